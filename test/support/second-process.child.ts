import { parentProcess } from './parent-process.js';
import { startProcess } from './second-process.js';

const parent = parentProcess<{ question: string; start: undefined }>();
parent.on('question', (question) => parent.send('answer', question.toUpperCase()));
parent.on('start', () => {
  const child = startProcess(new URL(import.meta.url));
  void child.once('ready').then(() => {
    child.pause();
    parent.send('started', child.pid);
  });
});
parent.send('ready', { pid: process.pid, greeting: process.env['GREETING'] ?? '' });
console.log('said ready');
