import { eventually } from '../../support/eventually.js';
import { loseFirstReply } from '../../support/proxy/fault-proxy.js';
import type { ProxiedConnection, Role } from '../../support/proxy/proxied-connection.js';
import type { Affected, Fault } from './trial.js';

/** How long the server is away or silent, and how long bytes are delayed. */
const AWAY_MS = 4_000;
const SUBSCRIBE = /^subscribe /i;
export const SCRIPTS = /^eval(sha)? /i;

/** Commands go to the server of the key; the subscription of a Cluster may be on any server. */
async function connectionOf({ ways, home }: Affected, role: Role): Promise<ProxiedConnection> {
  if (role === 'commands') return home.connection(role);
  return eventually(() => {
    const [found] = ways.flatMap((way) => way.open(role));
    if (found === undefined) throw new Error(`No connection is open for ${role}`);
    return found;
  }, 10_000);
}

export const halfOpen = (role: Role): Fault => ({
  role,
  fault: 'half-open',
  replaced: true,
  async begin(affected) {
    const connection = await connectionOf(affected, role);
    connection.halfOpen();
    return connection;
  },
});

export const closedAtServer = (role: Role): Fault => ({
  role,
  fault: 'closed at the server only',
  replaced: true,
  async begin(affected) {
    const connection = await connectionOf(affected, role);
    connection.closeAtServer();
    return connection;
  },
});

/** The network holds the bytes until the client has another connection, and delivers them then. */
export const delayedBytes = (role: Role): Fault => ({
  role,
  fault: 'bytes delayed beyond a reconnect',
  replaced: true,
  lastsMs: AWAY_MS,
  async begin(affected) {
    const connection = await connectionOf(affected, role);
    connection.halfOpen();
    return connection;
  },
  end: async (_, connection) => connection?.deliver(),
});

export const lostReply = (role: Role): Fault => ({
  role,
  fault: 'the reply lost, the connection silent from then on',
  replaced: true,
  async begin(affected) {
    const connection = await connectionOf(affected, role);
    await connection.loseReply(SCRIPTS);
    return connection;
  },
});

/** Resets the connection, and loses the reply to the SUBSCRIBE of the next one. */
export const lostSubscribe: Fault = {
  role: 'inbox',
  fault: 'the reply to SUBSCRIBE lost',
  async begin(affected) {
    const connection = await connectionOf(affected, 'inbox');
    void loseFirstReply(affected.ways, SUBSCRIBE);
    connection.cut();
  },
};

export const ODD_REPLIES: Readonly<Record<string, string>> = {
  QUEUED: '+QUEUED\r\n',
  OK: '+OK\r\n',
  null: '$-1\r\n',
  'an array that is too short': '*1\r\n:1\r\n',
  'an unknown code': '*3\r\n:77\r\n:0\r\n:0\r\n',
  'a number out of range': ':-5\r\n',
};

/** The server executes the requests, and several of its replies arrive in another shape. */
export const oddReply = (shape: string): Fault => ({
  role: 'commands',
  fault: `odd replies: ${shape}`,
  async begin(affected) {
    const connection = await connectionOf(affected, 'commands');
    for (let i = 0; i < 5; i += 1) await connection.replaceReply(SCRIPTS, ODD_REPLIES[shape]);
  },
});

export const oddReplies: readonly Fault[] = Object.keys(ODD_REPLIES).map(oddReply);

/** The server executes no command and replies `QUEUED` to each. */
export const withinMulti: Fault = {
  role: 'commands',
  fault: 'within a MULTI',
  lastsMs: AWAY_MS,
  async begin(affected) {
    const connection = await connectionOf(affected, 'commands');
    connection.intercept(SCRIPTS, ODD_REPLIES['QUEUED']);
    return connection;
  },
  end: async (_, connection) => connection?.endIntercept(),
};

/** All servers, or the one of the key. */
const places = {
  'all servers': ({ ways }: Affected) => ways,
  'its server': ({ home }: Affected) => [home],
};

export const unresponsive = (place: keyof typeof places): Fault => ({
  role: place,
  fault: 'unresponsive',
  lastsMs: AWAY_MS,
  begin: async (affected) => places[place](affected).forEach((way) => way.hold()),
  end: (affected) => Promise.all(places[place](affected).map((way) => way.resume())),
});

export const refused = (place: keyof typeof places): Fault => ({
  role: place,
  fault: 'refused connections',
  lastsMs: AWAY_MS,
  begin: async (affected) => places[place](affected).forEach((way) => way.goDown()),
  end: (affected) => Promise.all(places[place](affected).map((way) => way.resume())),
});
