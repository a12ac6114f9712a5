import 'reflect-metadata';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';

import type { HandlerFacts } from '../../keys/key-roots.js';

/**
 * Metadata that decorators of Nest store on a handler, and the transport that calls it. The names are copied, because most of the
 * packages are optional.
 */
const ENTRANCES: readonly (readonly [metadata: string, transport: string])[] = [
  [PATH_METADATA, 'http'],
  ['microservices:pattern', 'rpc'],
  ['websockets:message_mapping', 'ws'],
  ['graphql:resolver_type', 'graphql'],
  ['graphql:resolve_property', 'graphql'],
  ['graphql:resolve_reference', 'graphql'],
  ['EVENT_LISTENER_METADATA', 'event'],
];

const WITHOUT_BODY: ReadonlySet<unknown> = new Set([RequestMethod.GET, RequestMethod.HEAD]);

/** A handler of a class, declared or inherited. */
export interface Handler {
  readonly name: string | symbol;
  /** The prototype that has the method. */
  readonly owner: object;
  readonly descriptor: PropertyDescriptor;
  readonly facts: HandlerFacts;
}

/** Every method of `prototype` that a request, message or event can reach. Methods that a subclass overrides are not included. */
export function handlersOf(prototype: object): readonly Handler[] {
  const seen = new Set<string | symbol>();
  const handlers: Handler[] = [];
  for (let owner = prototype; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
    for (const name of Reflect.ownKeys(owner)) {
      const descriptor = Object.getOwnPropertyDescriptor(owner, name)!;
      const facts = seen.has(name) ? undefined : factsOf(descriptor.value);
      seen.add(name);
      if (name !== 'constructor' && facts !== undefined) handlers.push({ name, owner, descriptor, facts });
    }
  }
  return handlers;
}

function factsOf(method: unknown): HandlerFacts | undefined {
  if (typeof method !== 'function') return undefined;
  const entrances = ENTRANCES.filter(([metadata]) => Reflect.hasOwnMetadata(metadata, method));
  if (entrances.length === 0) return undefined;
  return {
    transports: [...new Set(entrances.map(([, transport]) => transport))],
    hasBody: !WITHOUT_BODY.has(Reflect.getOwnMetadata(METHOD_METADATA, method)),
  };
}
