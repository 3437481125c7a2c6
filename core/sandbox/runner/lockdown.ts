// Locks a child process down before it loads any transform: freezes the globals and removes Node's own.
import { registerHooks } from 'node:module'
import { createStringify } from './stringify.ts'

/** Globals that all compartments share. They are frozen, so that no transform can change them for another. */
export interface SharedGlobals {
  Date: typeof Date
  Math: typeof Math
  Intl: typeof Intl
  Float32Array: typeof Float32Array
  Float64Array: typeof Float64Array
}

export function lockDown(): SharedGlobals {
  // Saved before the lockdown, which removes Date.now and Math.random from the globals of compartments.
  const shared = { Date, Math, Intl, Float32Array, Float64Array }
  // The lockdown removes what `writeBigInts` would define, because the language does not have it.
  JSON.stringify = createStringify(JSON.stringify)
  lockdown({
    overrideTaming: 'severe',
    domainTaming: 'unsafe',
    localeTaming: 'unsafe',
    consoleTaming: 'unsafe',
    errorTrapping: 'none',
    unhandledRejectionTrapping: 'none',
  })
  // `lockdown` does not freeze these. Without this, one transform could change the clock of all others.
  for (const value of Object.values(shared)) harden(value)
  registerHooks({ resolve: refuseModule, load: refuseModule })
  removeNodeGlobals()
  return shared
}

function refuseModule(): never {
  throw new Error('Modules cannot be loaded in the sandbox.')
}

/** The second line of defence: code that escapes from a compartment finds only the language, and nothing of Node. */
function removeNodeGlobals(): void {
  const language = new Set(Object.getOwnPropertyNames(new Compartment().globalThis))
  const processMembers = [
    'binding',
    '_linkedBinding',
    'dlopen',
    'getBuiltinModule',
    'kill',
    '_kill',
    'abort',
    'chdir',
    'loadEnvFile',
    '_debugProcess',
    'mainModule',
  ]
  for (const name of processMembers) Reflect.deleteProperty(process, name)
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (!language.has(name)) Reflect.deleteProperty(globalThis, name)
}
