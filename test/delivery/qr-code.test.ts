// QR codes as text. A decoder (jsQR) has read codes of all versions that these digests stand for.
import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { drawQrCode } from '../../core/delivery/qr-code.ts'

it('draws a QR code with its margin', () => {
  expect(drawQrCode('hello')).toBe(
    `
█████████████████████████
██ ▄▄▄▄▄ ██ ▀ ▄█ ▄▄▄▄▄ ██
██ █   █ █▄ █ ▄█ █   █ ██
██ █▄▄▄█ ███▄█ █ █▄▄▄█ ██
██▄▄▄▄▄▄▄█ ▀▄▀ █▄▄▄▄▄▄▄██
██▄  ▀  ▄   ▄▄█▄ ███▄▀▀██
███▄  ▄▄▄█▄███▄█▀█▄▄▄ ▄██
██████▄█▄▄▀ ▄▀▄▀▄▀▄█▀▀▀██
██ ▄▄▄▄▄ █    ▀ ▄ ▀█▄▄▄██
██ █   █ █▄▄ ▄█▄  ██▀ ▄██
██ █▄▄▄█ █  ▄█▄█▀█ █▄▀▄██
██▄▄▄▄▄▄▄█▄█▄█▄█▄▄███▄▄██
▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
`.slice(1),
  )
})

it.each([
  [17, '542b9c75380a28b0'],
  [78, 'b8cbf874c3ee64cf'],
  [154, '5af6a9f6cd16138f'],
  [237, '231ca93f7e973d4f'],
  [271, '9a0a00a5c1a98f44'],
  [500, 'd5b61f9b5b67c844'],
  [858, 'bbcd81853613e2d4'],
  [1200, 'cb83f20a88ab86d3'],
  [2953, '49105689de12d3c2'],
])('draws %i bytes', (length, digest) => {
  const text = Array.from({ length }, (_, index) => 'abcXYZ019,/+=@'[(index * 7 + length) % 14]).join('')
  expect(hash('sha256', drawQrCode(text) ?? '').slice(0, 16)).toBe(digest)
})

it('refuses what fits into no code', () => {
  expect(drawQrCode('x'.repeat(2954))).toBeUndefined()
})
