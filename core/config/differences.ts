// Lists the keys at which two configurations differ.
import { isRecord } from './walk.ts'

/** The deepest paths at which two values differ. A value that exists on one side only counts with all of its keys. */
export function listDifferences(before: unknown, after: unknown, keys: readonly string[] = []): (readonly string[])[] {
  if (isRecord(before) || isRecord(after)) {
    const [one, other] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}]
    const inside = [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
      listDifferences(one[key], other[key], [...keys, key]),
    )
    const both = isRecord(before) && isRecord(after)
    return both || inside.length > 0 ? inside : [keys]
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [keys]
}
