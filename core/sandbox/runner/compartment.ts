// Loads a transform into a compartment of its own, with a console and a few globals that the language itself lacks.
import { compileInterpreted, type Check } from '../../typebox.ts'
import { bundleName, type LogLine, maxLineLength, type Outcome } from '../ipc-frames.ts'
import type { SharedGlobals } from './lockdown.ts'

export interface LoadedTransform {
  transform(input: unknown): unknown
  /** JSON Schema of the payload as text, or an empty string if the module declares none. */
  schema: string
  check: Check | undefined
}

interface Source {
  code: string
  exportName: string
}

/** A failed load, with the outcome that the gateway receives. */
export class LoadError extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome, message: string) {
    super(message)
    this.outcome = outcome
  }
}

/** Evaluates a bundle. Throws what its top level throws. */
export function loadTransform(
  { code, exportName }: Source,
  shared: SharedGlobals,
  log: (line: LogLine) => void,
): LoadedTransform {
  const compartment = new Compartment({
    globals: { ...shared, console: createConsole(log) },
    __options__: true,
  } as never)
  for (const name of ['Compartment', 'lockdown']) Reflect.deleteProperty(compartment.globalThis, name)
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

/** Marks the stack frames of transforms. */
export const sourceUrl = 'transform'

/**
 * Precedes the code, in one line. Compartments look up globals in a proxy; with local constants, code that uses globals
 * in loops is three times as fast.
 */
const localNames =
  '"use strict";const {Object,Array,String,Number,Boolean,BigInt,Symbol,JSON,Math,Date,Map,Set,RegExp,Promise,' +
  'Reflect,Error,TypeError,RangeError,parseInt,parseFloat,isNaN,isFinite,encodeURIComponent,decodeURIComponent,' +
  'console} = globalThis;'

/**
 * Implemented in plain JavaScript and evaluated in each compartment, because Node's versions would expose objects that
 * are not frozen. Webhooks contain Base64 and UTF-8, and TypeBox needs TextEncoder.
 */
const missingGlobals = `(() => {
  "use strict";
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const toBinary = (bytes) => {
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return text;
  };
  globalThis.TextEncoder = class TextEncoder {
    encode(text = '') {
      const binary = unescape(encodeURIComponent(String(text).toWellFormed()));
      return Uint8Array.from(binary, (char) => char.charCodeAt(0));
    }
  };
  globalThis.TextDecoder = class TextDecoder {
    constructor(label = 'utf-8') {
      if (!/^utf-?8$/i.test(label)) throw new RangeError('TextDecoder supports only UTF-8.');
    }
    decode(bytes = new Uint8Array()) {
      try { return decodeURIComponent(escape(toBinary(ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes)))) }
      catch { throw new TypeError('The bytes are not UTF-8.') }
    }
  };
  globalThis.btoa = (text) => {
    let out = '';
    for (let at = 0; at < text.length; at += 3) {
      const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
      if (a > 255 || b > 255 || c > 255) throw new TypeError('btoa accepts characters up to U+00FF.');
      out += digits[a >> 2] + digits[((a & 3) << 4) | (b >> 4)];
      out += Number.isNaN(b) ? '=' : digits[((b & 15) << 2) | (c >> 6)];
      out += Number.isNaN(c) ? '=' : digits[c & 63];
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
      log([level, values.map(formatValue).join(' ').slice(0, maxLineLength)])
  return harden({
    log: writer('info'),
    info: writer('info'),
    debug: writer('debug'),
    trace: writer('debug'),
    warn: writer('warn'),
    error: writer('error'),
  })
}

/** Any value as a line of text. Reading a hostile value may throw, or take time that counts towards the time limit. */
export function formatValue(value: unknown): string {
  try {
    if (typeof value === 'string') return value.slice(0, maxLineLength)
    const text =
      value instanceof Error ? `${value.name}: ${value.message}` : (JSON.stringify(value) as string | undefined)
    return (text ?? String(value)).slice(0, maxLineLength)
  } catch {
    return '[cannot be shown]'
  }
}
