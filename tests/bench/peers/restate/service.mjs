// The other side of bench-engine-restate: an agent as a virtual object.
//
//     cd build/peers/node && node service.mjs PORT TEXTS
//
// A key of the state for each message and one for their number; the state is
// lazy, so that a turn reads that number alone. A step of the model and a call
// of a tool is a run of the context, which Restate stores before it goes on;
// tools of one step run side by side. TEXTS has the answer in its last line.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.cwd() + "/"); // packages are there
const restate = require("@restatedev/restate-sdk");
const [port, texts] = process.argv.slice(2);
const answer = readFileSync(texts, "utf8").split("\n").at(-2);
const lazy = { enableLazyState: true };
const model = () => answer;
const tool = () => "four euros, at seven";

async function append(ctx, texts) {
  const count = (await ctx.get("count")) ?? 0;
  texts.forEach((text, i) => ctx.set(`message-${count + i}`, text));
  ctx.set("count", count + texts.length);
}

async function say(ctx, question) {
  const said = await ctx.run("model", model);
  await append(ctx, [question, said]);
  return said;
}

async function look(ctx, question) {
  const texts = [question];
  for (const step of [1, 2]) {
    texts.push(await ctx.run("model", () => `calls of step ${step}`));
    texts.push(...await restate.RestatePromise.all([
      ctx.run("tool", tool), ctx.run("tool", tool)]));
  }
  texts.push(await ctx.run("model", model));
  await append(ctx, texts);
  return texts.at(-1);
}

const { exclusive } = restate.handlers.object;
restate.serve({
  port: Number(port),
  services: [restate.object({
    name: "clerk",
    handlers: { say: exclusive(lazy, say), look: exclusive(lazy, look) },
  })],
});
