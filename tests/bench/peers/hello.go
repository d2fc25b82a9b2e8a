// The usual server of a Go program, which says "ok": hello PORT.
package main

import (
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
