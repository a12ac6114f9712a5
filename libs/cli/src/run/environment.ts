/** What the shell script at the start of the program passes on. The command must not see it. */
export interface StartFacts {
  /** `nohup` or a script has set SIGHUP to ignored. */
  readonly ignoresHangUp: boolean;
  /** The environment of the program, as its caller has set it. */
  readonly env: NodeJS.ProcessEnv;
}

export function startFacts(): StartFacts {
  const {
    DISTRIBUTE_LOCK_IGNORES_HUP: ignores,
    DISTRIBUTE_LOCK_ENVIRON: environ,
    DISTRIBUTE_LOCK_CERTIFICATES: certificates,
    ...env
  } = process.env;
  const kept = certificates === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificates };
  return { ignoresHangUp: ignores === '1', env: { ...env, ...kept, ...oddVariables(environ) } };
}

/** Variables with names such as `INPUT_NODE-VERSION`, which some shells do not pass on. */
function oddVariables(environ = ''): NodeJS.ProcessEnv {
  const lines = Buffer.from(environ, 'hex').toString().split('\0');
  const pairs = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const);
  return Object.fromEntries(pairs.filter(([name]) => name !== '' && !/^[A-Za-z_]\w*$/.test(name)));
}
