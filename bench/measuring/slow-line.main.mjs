/** The main script of a slow line; runs with the loader of TypeScript. */
import { startFaultProxy } from '../../test/support/proxy/fault-proxy.ts';

const [port, delayMs] = process.argv.slice(2).map(Number);
const proxy = await startFaultProxy(port);
proxy.delay(delayMs);
process.send({ port: proxy.port });
process.once('disconnect', () => process.exit());
