export { queue } from '../queue/queue.js';
