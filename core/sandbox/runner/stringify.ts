// The `JSON.stringify` of transforms: it also writes BigInts, with all their digits.
import { rawJson, readJson } from '../../json.ts'

type Replacer = ((this: unknown, key: string, value: unknown) => unknown) | string[] | null

export function createStringify(stringify: typeof JSON.stringify): typeof JSON.stringify {
  return (value: unknown, replacer?: unknown, space?: string | number): string => {
    try {
      return stringify(value, replacer as string[], space)
    } catch {
      // The value holds a BigInt, or the same error is thrown again.
      return stringifyExactly(value, replacer as Replacer, space)
    }
  }

  function stringifyExactly(value: unknown, replacer: Replacer = null, space?: string | number): string {
    if (typeof replacer === 'function')
      return stringify(
        value,
        replaceBy((holder, key, field) => replacer.call(holder, key, field)),
        space,
      )
    const text = stringify(
      value,
      replaceBy((_holder, _key, field) => field),
      space,
    )
    // A list of keys works only without a function.
    return replacer
      ? stringify(
          readJson(text, (_key, field) => toRaw(field)),
          replacer,
          space,
        )
      : text
  }
}

const replaceBy = (replace: (holder: unknown, key: string, value: unknown) => unknown) =>
  function (this: unknown, key: string, value: unknown): unknown {
    return toRaw(replace(this, key, value))
  }

const toRaw = (value: unknown): unknown => (typeof value === 'bigint' ? rawJson(String(value)) : value)
