// Texts that try to run, load or break something where they are shown: markup, scripts, event handlers, and huge or
// broken text.
const run = 'globalThis.hasRun=1'

/** One of each sort. */
export const fewPayloads: readonly string[] = [
  `<script>${run}</script>`,
  `"><script src="https://evil.test/a.js"></script>`,
  `<img src=x onerror="${run}">`,
  `<img src="https://evil.test/pixel.gif">`,
  `<svg onload="${run}"></svg>`,
  `<svg><animate onbegin="${run}" attributeName=x dur=1s>`,
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`,
  `<iframe src="javascript:parent.${run}"></iframe>`,
  `<object data="https://evil.test/a.swf"></object>`,
  `<embed src="https://evil.test/a">`,
  `<link rel="stylesheet" href="https://evil.test/a.css">`,
  `<style>* { display: none !important }</style>`,
  `<base href="https://evil.test/">`,
  `<meta http-equiv="refresh" content="0;url=https://evil.test/">`,
  `<form action="https://evil.test/"><input name=a><button autofocus onfocus="${run}">`,
  `<a href="javascript:${run}">click</a>`,
  `javascript:${run}`,
  `data:text/html,<script>${run}</script>`,
  `</textarea><script>${run}</script>`,
  `</title></style></script><script>${run}</script>`,
  `--><script>${run}</script>`,
  `<details open ontoggle="${run}">`,
  `<video><source onerror="${run}"></video>`,
  `<body onload="${run}">`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${run}">`,
  `{{constructor.constructor('${run}')()}}`,
  '${' + run + '}',
  `';${run}//`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  '%3Cscript%3E' + run + '%3C/script%3E',
  '&lt;script&gt;' + run + '&lt;/script&gt;',
  '__proto__',
  'constructor',
  '\u202Egnirts desrever a',
  '\u0000\u0001\u001b[31mred\u0007',
  'zero\u200bwidth\u2028line\u2029paragraph',
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a'.repeat(200),
  '\ud800 a lone surrogate',
  'W'.repeat(20_000),
  '👩‍👩‍👧‍👦'.repeat(500),
  '\n'.repeat(2_000),
  '{"a":'.repeat(400),
]

const tags = ['svg', 'video', 'audio', 'input', 'select', 'textarea', 'details', 'iframe', 'object', 'embed', 'marquee']
const handlers = [
  'onload',
  'onerror',
  'onfocus',
  'onbegin',
  'ontoggle',
  'onanimationstart',
  'onpointerenter',
  'onstart',
]
/** How a text may try to leave the place where it is shown. */
const escapes = [
  '',
  '"',
  "'",
  '">',
  "'>",
  '</title>',
  '</textarea>',
  '</style>',
  '</script>',
  '-->',
  ']]>',
  '`',
  '%0a',
  '\0',
  ' ',
]
const schemes = [
  'javascript:',
  'JaVaScRiPt:',
  'java\tscript:',
  ' javascript:',
  'vbscript:',
  'data:text/html,',
  '//evil.test/',
  '\\\\evil.test\\',
]
const carriers = [
  '<a href="X">a</a>',
  '<iframe src="X">',
  '<form action="X"><button>',
  '<object data="X">',
  '<base href="X">',
]

/** 300 of them, each once. */
export const manyPayloads: readonly string[] = [
  ...new Set([
    ...fewPayloads,
    ...tags.flatMap((tag) => handlers.map((handler) => `<${tag} ${handler}="${run}" src=x autofocus open>`)),
    ...escapes.flatMap((escape) => [
      `${escape}<script>${run}</script>`,
      `${escape}<img src=x onerror=${run}>`,
      `${escape}<style>*{display:none!important}</style>`,
      `${escape} autofocus onfocus=${run} `,
    ]),
    ...schemes.flatMap((scheme) => carriers.map((carrier) => carrier.replace('X', scheme + run))),
    ...['<', '&#60;', '\u003c', '\\x3c', '%3c', '＜', '+ADw-', '<\0'].flatMap((less) =>
      ['script', 'SCRIPT', 'scr\0ipt', 'svg/onload=' + run + '//', 'img src=x:x onerror=' + run + ' '].map(
        (rest) => `${less}${rest}>${run}</script>`,
      ),
    ),
    ...[
      '[a](javascript:X)',
      '![a](https://evil.test/a.png)',
      '<https://evil.test>',
      '```html\nX\n```',
      '$\\href{javascript:X}{a}$',
    ].map((text) => text.replace('X', run)),
    ...['\u202a', '\u2066', '\u200f', '\ufeff', '\u00ad', '\u3164', '\ufff9', '\udbff\udfff', '\u0085', '\v\f\b'].map(
      (character) => `a${character}b`.repeat(20),
    ),
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    'valueOf',
    'then',
    'length',
    'prototype',
    'NaN',
    'null',
    'undefined',
    ...Array.from(
      { length: 40 },
      (_, index) => `<div style="position:fixed;inset:0;z-index:${index}" onclick="${run}">`,
    ),
  ]),
].slice(0, 300)
