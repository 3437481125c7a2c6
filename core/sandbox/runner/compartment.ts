// Inside a child: one transform in a compartment of its own, with a console and a few globals that the language does
// not bring.
import { compileInterpreted, type Check } from '../../typebox.ts'
import { type LogLine, maxLineLength, type Outcome } from '../ipc-frames.ts'
import type { SharedGlobals } from './lockdown.ts'

export interface LoadedTransform {
  transform(input: unknown): unknown
  /** JSON Schema of the payload, as text; empty when the module declares none. */
  schema: string
  check: Check | undefined
}

interface Source {
  code: string
  exportName: string
}

/** What the gateway is to call the failure of a load. */
export class LoadError extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome, message: string) {
    super(message)
    this.outcome = outcome
  }
}

/** Evaluates a bundle. What it throws at its top level is thrown on. */
export function loadTransform(
  { code, exportName }: Source,
  shared: SharedGlobals,
  log: (line: LogLine) => void,
): LoadedTransform {
  const compartment = new Compartment({
    globals: { ...shared, console: createConsole(log) },
    __options__: true,
  } as never)
  for (const power of ['Compartment', 'lockdown']) Reflect.deleteProperty(compartment.globalThis, power)
  compartment.evaluate(missingGlobals)
  const exports = compartment.evaluate(
    `(() => {${localNames}\n${code}\n;return ${bundleName}})()\n//# sourceURL=${sourceUrl}`,
  ) as Record<string, unknown> | undefined
  const transform = exports?.[exportName]
  if (typeof transform !== 'function') throw new LoadError('no_function', '')
  const schema = exports?.['payload'] === undefined ? undefined : JSON.stringify(exports['payload'])
  return {
    transform: transform as LoadedTransform['transform'],
    schema: schema ?? '',
    check: schema === undefined ? undefined : compileInterpreted(JSON.parse(schema) as Record<string, unknown>),
  }
}

/** The variable that the bundler leaves a module's exports in. */
export const bundleName = '__transform'
/** How frames of a transform are known in a stack. */
export const sourceUrl = 'transform'

/**
 * A compartment looks free names up in a proxy; as local constants they cost half as much. They stand in one line
 * before the code.
 */
const localNames = `"use strict";const {Object,Array,String,Number,Boolean,BigInt,Symbol,JSON,Math,Date,Map,Set,RegExp,Promise,Reflect,Error,TypeError,RangeError,\
parseInt,parseFloat,isNaN,isFinite,encodeURIComponent,decodeURIComponent,console} = globalThis;`

/**
 * Made of the language alone, and anew in each compartment: Node's own would bring objects that nobody froze.
 * Webhooks carry Base64 and UTF-8; schemas of TypeBox need TextEncoder.
 */
const missingGlobals = `(() => {
  "use strict";
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const toBinary = (bytes) => { let text = ''; for (const byte of bytes) text += String.fromCharCode(byte); return text };
  globalThis.TextEncoder = class TextEncoder {
    encode(text = '') { return Uint8Array.from(unescape(encodeURIComponent(String(text).toWellFormed())), (char) => char.charCodeAt(0)) }
  };
  globalThis.TextDecoder = class TextDecoder {
    constructor(label = 'utf-8') { if (!/^utf-?8$/i.test(label)) throw new RangeError('TextDecoder knows UTF-8 only.') }
    decode(bytes = new Uint8Array()) {
      try { return decodeURIComponent(escape(toBinary(ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes)))) }
      catch { throw new TypeError('The bytes are not UTF-8.') }
    }
  };
  globalThis.btoa = (text) => {
    let out = '';
    for (let at = 0; at < text.length; at += 3) {
      const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
      if (a > 255 || b > 255 || c > 255) throw new TypeError('btoa takes characters up to U+00FF.');
      out += digits[a >> 2] + digits[((a & 3) << 4) | (b >> 4)] + (Number.isNaN(b) ? '=' : digits[((b & 15) << 2) | (c >> 6)]) + (Number.isNaN(c) ? '=' : digits[c & 63]);
    }
    return out;
  };
  globalThis.atob = (text) => {
    const clean = String(text).replace(/[\\t\\n\\f\\r ]/g, '').replace(/={1,2}$/, '');
    if (clean.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(clean)) throw new TypeError('The text is not Base64.');
    let out = '', bits = 0, held = 0;
    for (const char of clean) {
      held = ((held << 6) | digits.indexOf(char)) & 0xffff;
      bits += 6;
      if (bits >= 8) out += String.fromCharCode((held >> (bits -= 8)) & 255);
    }
    return out;
  };
})()`

function createConsole(log: (line: LogLine) => void) {
  const writer =
    (level: LogLine[0]) =>
    (...values: unknown[]): void =>
      log([level, values.map(inWords).join(' ').slice(0, maxLineLength)])
  return harden({
    log: writer('info'),
    info: writer('info'),
    debug: writer('debug'),
    trace: writer('debug'),
    warn: writer('warn'),
    error: writer('error'),
  })
}

/** Any value in a line of text; values may be hostile, and looking at them counts against the limits of the call. */
export function inWords(value: unknown): string {
  try {
    if (typeof value === 'string') return value.slice(0, maxLineLength)
    const text =
      value instanceof Error ? `${value.name}: ${value.message}` : (JSON.stringify(value) as string | undefined)
    return (text ?? String(value)).slice(0, maxLineLength)
  } catch {
    return '[cannot be shown]'
  }
}
