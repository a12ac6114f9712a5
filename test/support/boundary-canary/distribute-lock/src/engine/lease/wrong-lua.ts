export { script } from '../../store/lua/generated/lua-scripts.js';
