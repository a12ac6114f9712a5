import 'reflect-metadata';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { GUARDS_METADATA, MODULE_PATH, PATH_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';

import { LockConfigurationError } from '../../errors.js';
import { locksOf } from './lock-metadata.js';
import type { LockSpec } from './lock-spec.js';

type Constructor = abstract new (...args: never[]) => object;

const logger = new Logger('DistributeLock');

/** A named parameter or wildcard of a path, in the syntax of Express and Fastify. */
const PARAMETER = /[:*](?:"([^"]+)"|([\p{ID_Start}$_][\p{ID_Continue}$]*))/gu;
/** A part of a path whose parameters depend on the HTTP framework: an unnamed wildcard or a regular expression. */
const UNNAMED = /\*(?![\p{ID_Start}$_"])|\(/u;

/** Compares the key templates of controllers with their routes. Only the start knows the whole path of a route. */
@Injectable()
export class RouteCheck {
  constructor(
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /**
   * @param controller - the class of a controller
   * @param module - the class of its module
   * @throws LockConfigurationError when a template reads a parameter that a route of the controller does not have
   */
  check(controller: Constructor, module: object | undefined): void {
    const names = new Set<string | symbol>();
    for (let link = controller.prototype as object; link !== Object.prototype; link = Object.getPrototypeOf(link)) {
      for (const [name, specs] of locksOf(link))
        if (!names.has(name)) this.checkMethod(controller, module, name, specs);
      // A method that a subclass overrides has no route.
      for (const name of Reflect.ownKeys(link)) names.add(name);
    }
  }

  private checkMethod(
    controller: Constructor,
    module: object | undefined,
    name: string | symbol,
    specs: readonly LockSpec[],
  ): void {
    const handler = Reflect.get(controller.prototype, name) as object;
    const own = pathsOf(handler, PATH_METADATA);
    if (own === undefined) return;
    const { applicationId } = this.modules;
    const ofModule = module && (pathsOf(module, MODULE_PATH + applicationId) ?? pathsOf(module, MODULE_PATH));
    const parts = [[this.config.getGlobalPrefix()], ofModule ?? [''], pathsOf(controller, PATH_METADATA) ?? [''], own];
    const routes = parts.reduce<string[]>((starts, ends) => starts.flatMap((start) => ends.map(appended(start))), ['']);
    for (const spec of specs) {
      for (const route of routes) checkParameters(spec, route);
      if (!this.isGuarded(controller, handler)) warnOfUser(spec, routes[0]);
    }
  }

  private isGuarded(controller: object, handler: object): boolean {
    const { config } = this;
    if (config.getGlobalGuards().length + config.getGlobalRequestGuards().length > 0) return true;
    return [controller, handler].some((target) => Reflect.hasMetadata(GUARDS_METADATA, target));
  }
}

function pathsOf(target: object, metadata: string): readonly string[] | undefined {
  const found = Reflect.getMetadata(metadata, target) as string | readonly string[] | undefined;
  return typeof found === 'string' ? [found] : found;
}

function appended(start: string): (end: string) => string {
  return (end) => `${start}/${end}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '');
}

function checkParameters({ method, template, paths }: LockSpec, route: string): void {
  if (UNNAMED.test(route)) return;
  const known = Array.from(route.matchAll(PARAMETER), ([, quoted, plain]) => quoted ?? plain);
  for (const path of paths) {
    const [root, name] = path.split('.');
    if (root !== 'params' || known.includes(name)) continue;
    throw new LockConfigurationError(
      `#{${path}} in the lock key "${template}" of ${method} is not a parameter of its route "${route}", which has ${known.join(', ') || 'none'}.` +
        ' Write a parameter of the route, or arg0. for a value that a pipe adds.',
    );
  }
}

function warnOfUser({ method, template, paths }: LockSpec, route: string): void {
  const path = paths.find((each) => each.split('.')[0] === 'user');
  if (path === undefined) return;
  logger.warn(
    `#{${path}} in the lock key "${template}" of ${method} needs a user, but the route "${route}" has no guard. ` +
      'Without a guard or middleware that sets the user, each call is refused.',
  );
}
