// Inside a child: turns the process into a room without doors, before any code of a transform is there.
import { registerHooks } from 'node:module'

/**
 * What every compartment may use besides the language's own immutable objects. All of it is frozen, so none can leave
 * something for another.
 */
export interface SharedGlobals {
  Date: typeof Date
  Math: typeof Math
  Intl: typeof Intl
  Float32Array: typeof Float32Array
  Float64Array: typeof Float64Array
}

export function lockDown(): SharedGlobals {
  // Taken before: afterwards the clock of Date and the dice of Math are gone from what compartments get by themselves.
  const shared = { Date, Math, Intl, Float32Array, Float64Array }
  lockdown({
    overrideTaming: 'severe',
    domainTaming: 'unsafe',
    localeTaming: 'unsafe',
    consoleTaming: 'unsafe',
    errorTrapping: 'none',
    unhandledRejectionTrapping: 'none',
  })
  // What is handed in from here is not frozen by lockdown: without this, one transform could set the clock of all
  // others.
  for (const value of Object.values(shared)) harden(value)
  registerHooks({ resolve: refuse, load: refuse })
  removePowers()
  return shared
}

function refuse(): never {
  throw new Error('Nothing can be loaded here.')
}

/** A second fence: whoever got out of a compartment finds the language, and nothing of Node. */
function removePowers(): void {
  const language = new Set(Object.getOwnPropertyNames(new Compartment().globalThis))
  const powers = [
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
  for (const name of powers) Reflect.deleteProperty(process, name)
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (!language.has(name)) Reflect.deleteProperty(globalThis, name)
}
