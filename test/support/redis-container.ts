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

/** What the demo's docker-compose.yml runs, too. */
const IMAGE = 'redis:7-alpine';
/** The container that removes the others when a run is killed; the name as testcontainers has it in its reaper. */
const REAPER_IMAGE = process.env['RYUK_CONTAINER_IMAGE'] ?? 'testcontainers/ryuk:0.14.0';
/** A registry that says nothing for so long is out of reach. */
const SILENCE_MS = 8_000;

export interface RedisContainer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts Redis by Testcontainers; rejects, within seconds, where that cannot work. */
export async function startRedisContainer(): Promise<RedisContainer> {
  const runtime = await within(SILENCE_MS, 'the answer of the Docker engine', getContainerRuntimeClient());
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

/** Whether the image is there, now that it was pulled if need be. */
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
