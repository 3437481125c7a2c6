// The schemas of common fields: texts that must not be blank, lists of them, flags and counts.
import { notBlank, Type } from './typebox.ts'

/**
 * Shown as the default in the JSON Schema of the configuration, but not filled in, because an absent key also means that
 * something else may set the value.
 */
interface Shown<Value> {
  fallback?: Value
}

interface TextOptions extends Shown<string> {
  default?: string
  /** True: the text is kept out of logs and answers. */
  secret?: true
  /** True: the text is a path. */
  path?: true
}

export const Text = (description: string, options: TextOptions = {}) =>
  Type.String({ pattern: notBlank, ...options, description })

export const OptionalText = (description: string, options: Shown<string> = {}) =>
  Type.Optional(Text(description, options))

export const Texts = (description: string, options: { default?: string[]; minItems?: number } = {}) =>
  Type.Array(Type.String({ pattern: notBlank }), { ...options, description })

export const OptionalFlag = (description: string, options: Shown<boolean> = {}) =>
  Type.Optional(Type.Boolean({ ...options, description }))

/** A whole number from 0. */
export const Count = (description: string, options: { default?: number } = {}) =>
  Type.Integer({ minimum: 0, ...options, description })
