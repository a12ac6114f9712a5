import { once } from 'node:events';
import type { Readable } from 'node:stream';
import {
  GenericContainer,
  getContainerRuntimeClient,
  ImageName,
  Wait,
  type ContainerRuntimeClient,
} from 'testcontainers';
import { within } from './eventually.js';

/** The image in docker-compose.yml of the demo. */
const IMAGE = 'redis:7-alpine';
/** The container that removes the others when a run is killed. Testcontainers uses the same name. */
const REAPER_IMAGE = process.env['RYUK_CONTAINER_IMAGE'] ?? 'testcontainers/ryuk:0.14.0';
/** A registry without a reply for this time counts as unreachable. */
const SILENCE_MS = 8_000;

export interface RedisContainer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts Redis with Testcontainers; rejects within seconds where that is impossible. */
export async function startRedisContainer(): Promise<RedisContainer> {
  const runtime = await within(SILENCE_MS, 'the reply of the Docker engine', getContainerRuntimeClient());
  if (!(await obtain(runtime, IMAGE))) throw new Error(`The image ${IMAGE} is neither local nor can it be pulled.`);
  if (!(await obtain(runtime, REAPER_IMAGE))) process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .withStartupTimeout(30_000)
    .start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    stop: async () => void (await container.stop()),
  };
}

/** Pulls the image if it is missing, and returns whether it exists. */
async function obtain(runtime: ContainerRuntimeClient, name: string): Promise<boolean> {
  const image = ImageName.fromString(name);
  if (await runtime.image.exists(image)) return true;
  const abort = new AbortController();
  const silence = setTimeout(() => abort.abort(), SILENCE_MS);
  try {
    const options = { abortSignal: abort.signal };
    const progress = (await runtime.container.dockerode.pull(image.string, options)) as Readable;
    progress.on('data', () => silence.refresh());
    await once(progress, 'end');
    return await runtime.image.exists(image);
  } catch {
    return false;
  } finally {
    clearTimeout(silence);
  }
}
