import { LockConfigurationError } from '../../errors.js';
import { DEFAULT_CONNECTION } from '../../locks/default-connection.js';
import {
  checkObject,
  LOCKS_OPTIONS,
  type LocksSettings,
  resolveLocksOptions,
} from '../../locks/resolve-locks-options.js';
import { checkFlag, checkNames } from '../../options/values.js';
import { checkErrorMappers } from '../aspect/error-mapping.js';
import type { ConnectionSettings } from '../aspect/lock-connections.js';
import { checkContendedStatus } from '../aspect/lock-spec.js';
import type { LockModuleOptions } from './lock-module-options.js';

const DEFAULT_CONTENDED_STATUS = 409;

/** Checked module options with all defaults. */
export interface LockSettings extends LocksSettings, ConnectionSettings {
  /** By name, as configured. */
  readonly connections: ReadonlyMap<string, unknown>;
  readonly connectOnBoot: boolean;
}

const MODULE_OPTIONS: Readonly<Record<keyof LockModuleOptions, true>> = {
  ...LOCKS_OPTIONS,
  connections: true,
  connectOnBoot: true,
  contendedStatus: true,
  abortOnDisconnect: true,
  errors: true,
};

/** @throws LockConfigurationError naming the invalid option */
export function resolveModuleOptions(given: LockModuleOptions): LockSettings {
  checkObject('options of LockModule', given);
  checkNames(given, MODULE_OPTIONS);
  checkContendedStatus(given.contendedStatus);
  const { contendedStatus = DEFAULT_CONTENDED_STATUS, abortOnDisconnect = true, connectOnBoot = true } = given;
  checkFlag('abortOnDisconnect', abortOnDisconnect);
  checkFlag('connectOnBoot', connectOnBoot);
  const { errors = {} } = given;
  checkObject('Option "errors"', errors);
  checkErrorMappers(errors);
  return {
    ...resolveLocksOptions(given),
    connections: connectionsOf(given),
    connectOnBoot,
    contendedStatus,
    abortOnDisconnect,
    errors,
  };
}

function connectionsOf({ connection, connections = {} }: LockModuleOptions): ReadonlyMap<string, unknown> {
  checkObject('Option "connections"', connections);
  for (const name of Object.keys(connections)) {
    if (name !== '' && name !== DEFAULT_CONNECTION) continue;
    throw new LockConfigurationError(
      `Option "connections" cannot use the name "${name}"; use option "connection" instead.`,
    );
  }
  return new Map<string, unknown>([[DEFAULT_CONNECTION, connection], ...Object.entries(connections)]);
}
