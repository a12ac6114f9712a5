/** Measures for the log of an outage (P26). */
export const measuresOfOutageLog = [
  {
    promise: 'P26',
    what: 'a lost connection is reported',
    file: 'store/redis/outage.ts',
    measure: 'this.listener?.disconnected(this.server, this.reason);',
    without: '',
    test: ['log-lines', 'has one warning and one line about the return'],
  },
  {
    promise: 'P26',
    what: 'a server gets one warning a minute',
    file: 'locks/connection-log.ts',
    measure: 'if (delayMs <= 0) return this.warn(outage, error);',
    without: 'return this.warn(outage, error);',
    test: ['log-lines', 'has one warning a minute when the connection fails again and again'],
  },
];
