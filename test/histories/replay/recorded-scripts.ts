import { createHash } from 'node:crypto';

import {
  lockScript,
  markCounterScript,
  multiKeyScript,
  readwriteScript,
  semaphoreScript,
} from '../../../libs/distribute-lock/src/store/generated/lua-scripts.js';
import type { LuaScript } from '../../../libs/distribute-lock/src/store/lua-script.js';
import { DUMP_KEYS } from './dump-keys.js';

/** The first word of a recorded call in the log of its server. */
export const CALL = 'history-call';

/** Microseconds between the time with which Redis compares ends of keys and the first command of a script. */
const STARTS_WITHIN_US = 300;
/** The scripts of locks on one primary. */
const SCRIPTS = [lockScript, markCounterScript, multiKeyScript, readwriteScript, semaphoreScript];

/**
 * Replaces the scripts of this process by scripts that do the same and then write a record of the call. Their stores must be
 * opened later.
 */
export function recordScripts(): void {
  for (const script of SCRIPTS) {
    if (script.lua.includes(CALL)) continue;
    const lua = recorded(script);
    const sha1 = createHash('sha1').update(lua).digest('hex');
    Object.defineProperties(script, { lua: { value: lua }, sha1: { value: sha1 } });
  }
}

/**
 * The record is the argument of ECHO, which changes no key, needs no permission and has no receivers. MONITOR shows it in the
 * order of all commands of the server. Redis 7.0 does not stop the clock in a script, and compares the ends of keys with the
 * time before the first command. If both times may be in different milliseconds, the record contains the keys of the call.
 */
const RECORD = `${DUMP_KEYS}
local began = redis.call('TIME')
local times, messages = {}, {}
local function recording(run)
  return function(command, ...)
    local reply = run(command, ...)
    if command == 'TIME' then times[#times + 1] = reply end
    if command == 'PUBLISH' or command == 'SPUBLISH' then
      local channel, message = ...
      messages[#messages + 1] = { command, channel, message, type(reply) == 'table' and reply.err or reply }
    end
    return reply
  end
end
local function shown(value)
  if type(value) == 'number' then return 'number ' .. string.format('%.17g', value) end
  return type(value) .. ' ' .. tostring(value)
end
local function shownReply(ok, reply)
  if type(reply) ~= 'table' then return ok and shown(reply) or 'error ' .. tostring(reply) end
  if reply.err then return 'error ' .. reply.err end
  local parts = {}
  for i = 1, #reply do parts[i] = shown(reply[i]) end
  return parts
end
local server = setmetatable({ call = recording(redis.call), pcall = recording(redis.pcall) }, { __index = redis })
local ok, reply = pcall(script, KEYS, ARGV, server)
local ended = redis.call('TIME')
local function inOneMs()
  local micros = began[2] % 1000
  return began[1] == ended[1] and micros > ${STARTS_WITHIN_US} and micros + ended[2] - began[2] < 1000
end
redis.call('ECHO', '${CALL} ' .. cjson.encode({
  script = name, keys = KEYS, args = ARGV, began = began, times = times, ended = ended,
  messages = messages, reply = shownReply(ok, reply), after = not inOneMs() and dumpKeys(KEYS) or nil,
}))
if ok then return reply end
-- An error of the server would get another code if it was thrown again. A caught one is a text or a table.
local text = type(reply) == 'table' and reply.err or tostring(reply)
if string.find(text, '^%u%u+ ') then return { err = text } end
error(text, 0)`;

function recorded({ name, lua }: LuaScript): string {
  return `local name = '${name}'
local function script(KEYS, ARGV, redis)
${lua}
end
${RECORD}`;
}
