// Creates codes that people type: unguessable, and without characters that are easily confused.
import { randomInt } from 'node:crypto'

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const length = 8

export const createTypedCode = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
