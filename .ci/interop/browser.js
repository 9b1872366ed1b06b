// What the scripts that open a reader with Chromium share.
import { execFileSync } from 'node:child_process'
import { chromium } from 'playwright-core'

// asker asks the store in the environment, by the binary of this path.
export const asker = spendsync => sql =>
  JSON.parse(execFileSync(spendsync, ['query', '--format', 'json', '-c', sql], { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }))

export const startBrowser = () =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'] })
