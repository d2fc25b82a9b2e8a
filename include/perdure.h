/*
 * perdure.h - everything stable at once.
 */
#ifndef PERDURE_H
#define PERDURE_H

#include <perdure/agent.h>
#include <perdure/archive.h>
#include <perdure/bag.h>
#include <perdure/buf.h>
#include <perdure/chat.h>
#include <perdure/chat_store.h>
#include <perdure/client.h>
#include <perdure/codec.h>
#include <perdure/content.h>
#include <perdure/datetime.h>
#include <perdure/doc.h>
#include <perdure/durable.h>
#include <perdure/engine.h>
#include <perdure/errors.h>
#include <perdure/host.h>
#include <perdure/json.h>
#include <perdure/jsonschema.h>
#include <perdure/keys.h>
#include <perdure/log.h>
#include <perdure/metadata.h>
#include <perdure/msgpack.h>
#include <perdure/provider.h>
#include <perdure/session.h>
#include <perdure/snapshot.h>
#include <perdure/store.h>
#include <perdure/stored.h>
#include <perdure/stream.h>
#include <perdure/types.h>
#include <perdure/value.h>
#include <perdure/version.h>
#include <perdure/xml.h>

#endif
