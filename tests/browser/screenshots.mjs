// Pictures of every page, in light and dark, from a private daemon with real jobs, into docs/screenshots:
//   DDP_BIN=$PWD/build/release/bin node tests/browser/screenshots.mjs [FOLDER]
// Page.captureScreenshot writes WebP: a fifth of the bytes of PNG. FORMATS=webp,png for tools that do not read it.
import fs from 'node:fs';
import path from 'node:path';
import { chart, Daemon, drawn, openBrowser, openPage, poll, ROOT } from './rig.mjs';

const FOLDER = path.resolve(process.argv[2] ?? path.join(ROOT, 'docs/screenshots'));
const FORMATS = (process.env.FORMATS ?? 'webp').split(',');
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const SLOW = 600_000;

const ended = (daemon, id) => poll(async () => /SUCCEEDED|FAILED|CANCELLED|PAUSED/.test(await daemon.state(id)), `${id} ends`, SLOW);

// Jobs as a small group has them: a pretraining and what came from it, a comparison of learning rates, one that failed, one
// that is paused, one that runs, one that waits.
async function makeJobs(daemon) {
  const small = ['--data', 'wordnet:noun', '--limit', 4000, '--vocab-size', 4000, '--model-option', 'dim=64', '--model-option', 'layers=1', '--batch-size', 64];
  const base = await daemon.submit('--mode', 'pretrain', ...small, '--epochs', 4, '--nproc', 2, '--watch-every', 5, '--valid-every', 10, '--name', 'glosses-mlm', '--tag', 'wordnet');
  await ended(daemon, base);
  const rates = [];
  for (const rate of ['3e-4', '1e-3', '3e-3', '1e-2']) {
    rates.push(await daemon.trainable('--epochs', 6, '--batch-size', 64, '--schedule', 'cosine', '--lr', rate, '--seed', 1, '--name', `xor-lr-${rate}`, '--tag', 'sweep', '--watch-every', 20));
  }
  await Promise.all(rates.map((id) => ended(daemon, id)));
  const diverged = await daemon.trainable('--epochs', 5, '--batch-size', 64, '--optimizer', 'sgd', '--lr', '1e30', '--name', 'xor-too-fast', '--tag', 'sweep');
  await ended(daemon, diverged);
  const tuned = await daemon.submit('--mode', 'finetune', '--init-from', base, '--data', 'wordnet:noun', '--limit', 2000, '--batch-size', 64, '--epochs', 4, '--nproc', 2, '--name', 'nouns-finetune', '--tag', 'wordnet');
  await ended(daemon, tuned);
  const paused = await daemon.trainable('--epochs', 400, '--batch-size', 64, '--name', 'xor-long');
  await poll(async () => Number((await daemon.job(paused)).progress?.step ?? 0) > 100, 'it trains', SLOW);
  await daemon.ctl('pause', paused);
  await ended(daemon, paused);
  const running = await daemon.submit('--mode', 'finetune', '--init-from', base, '--data', 'wordnet:noun', '--limit', 2000, '--batch-size', 64, '--epochs', 50, '--nproc', 2, '--name', 'nouns-longer', '--tag', 'wordnet');
  await poll(async () => Number((await daemon.job(running)).progress?.step ?? 0) > 10, 'it trains', SLOW);
  await daemon.trainable('--epochs', 20, '--nproc', 2, '--name', 'xor-next');
  return { base, rates, diverged, tuned, running };
}

const settled = (page) => poll(() => page.evaluate(() => document.querySelector('[data-loading="true"]') === null && !/Loading…/.test(document.body.textContent)), 'the page is complete');

async function take(context, daemon, name, place, prepare) {
  const page = await openPage(context, daemon, place);
  await page.locator('h1').waitFor();
  await settled(page);
  await prepare?.(page);
  await settled(page);
  await page.evaluate(() => (document.activeElement?.blur(), document.fonts.ready));
  const session = await context.newCDPSession(page);
  for (const format of FORMATS) {
    const { data } = await session.send('Page.captureScreenshot', format === 'webp' ? { format, quality: 82 } : { format });
    fs.writeFileSync(path.join(FOLDER, `${name}.${format}`), Buffer.from(data, 'base64'));
  }
  await page.close();
}

const daemon = await Daemon.start();
const browser = await openBrowser();
try {
  fs.mkdirSync(FOLDER, { recursive: true });
  const { base, rates, tuned } = await makeJobs(daemon);
  const loss = async (page) => poll(async () => (await drawn(await chart(page, 'loss'))).length > 0, 'points are drawn').then(() => page.evaluate(() => window.scrollTo(0, 0)));
  const PLACES = [
    ['jobs', '/jobs'],
    ['job', `/jobs/${base}`, loss],
    ['system', `/jobs/${base}/system`],
    ['config', `/jobs/${tuned}/config?other=${base}`],
    ['events', `/jobs/${tuned}/events`],
    ['logs', `/jobs/${base}/logs`],
    ['checkpoints', `/jobs/${base}/checkpoints`, (page) => page.getByRole('button', { name: 'Verify all' }).click().then(() => page.getByText('✓ as saved').first().waitFor())],
    ['histograms', `/jobs/${base}/histograms`, (page) => page.locator('.heat canvas').first().waitFor()],
    ['texts', `/jobs/${tuned}/texts`],
    ['compare', `/compare?ids=${rates.join(',')}`, loss],
    ['table', `/jobs/${base}`, (page) => page.getByRole('button', { name: 'as a table' }).first().click()],
    ['submit', `/submit?from=${tuned}`],
  ];
  for (const colorScheme of ['light', 'dark']) {
    const suffix = colorScheme === 'dark' ? '-dark' : '';
    const wide = await browser.newContext({ viewport: WIDE, colorScheme });
    for (const [name, place, prepare] of PLACES) await take(wide, daemon, name + suffix, place, prepare);
    await wide.close();
    const phone = await browser.newContext({ viewport: PHONE, colorScheme });
    await take(phone, daemon, `phone${suffix}`, '/jobs');
    await take(phone, daemon, `phone-job${suffix}`, `/jobs/${base}`, loss);
    await phone.close();
  }
} finally {
  await browser.close();
  await daemon.close();
}
