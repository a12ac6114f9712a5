/** The main script of a slow line: passes bytes on after a delay, in both directions. */
import { connect, createServer } from 'node:net';

const [host, port, delayMs] = process.argv.slice(2);
/** The runtime may fire a timer this much late, so the rest of a delay is spent in turns of the event loop. */
const TIMER_MS = 2;

/** Bytes on their way, in the order of their arrival. */
const onTheWay = [];
let running = false;

function passOn() {
  while (onTheWay.length > 0 && onTheWay[0].at <= performance.now()) onTheWay.shift().write();
  running = onTheWay.length > 0;
  if (!running) return;
  const leftMs = onTheWay[0].at - performance.now();
  if (leftMs > TIMER_MS) setTimeout(passOn, leftMs - TIMER_MS + 0.5);
  else setImmediate(passOn);
}

function pipe(from, to) {
  from.setNoDelay(true);
  from.on('data', (bytes) => {
    onTheWay.push({ at: performance.now() + Number(delayMs), write: () => to.write(bytes) });
    if (!running) passOn();
  });
  from.on('error', () => undefined);
  from.once('close', () => to.destroy());
}

const server = createServer((client) => {
  const redis = connect(Number(port), host);
  pipe(client, redis);
  pipe(redis, client);
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.once('disconnect', () => process.exit());
