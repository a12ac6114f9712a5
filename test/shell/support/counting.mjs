/** `node counting.mjs`: prints the signals that it gets, and ends with code 3 at the second TERM. */
const counts = { SIGTERM: 0, SIGINT: 0, SIGUSR1: 0, SIGUSR2: 0 };
for (const name of Object.keys(counts)) {
  process.on(name, () => {
    counts[name] += 1;
    console.log(`${name} ${counts[name]}`);
    if (counts.SIGTERM === 2) process.exit(3);
  });
}
setInterval(() => undefined, 1_000);
console.log(`counting ${process.pid}`);
