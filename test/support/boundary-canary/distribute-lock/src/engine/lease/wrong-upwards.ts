export { engine } from '../engine.js';
