// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

/**
 * The work of a device since it began. Times are those of the device's own clock. Immutable.
 *
 * @param executions that had the device, whatever they ended with
 * @param workedNanos in which commands ran and contexts were moved
 * @param resumed how often an execution was put aside and went on where it had stopped
 * @param restarted how often one was dropped and began again
 * @param contextBytes moved to DRAM and back for those that went on
 * @param contextNanos that these transfers took
 * @param lostNanos that commands took which had to run again
 * @param waiting executions that wait for the device now
 */
public record NpuActivity(
    long executions,
    long workedNanos,
    long resumed,
    long restarted,
    long contextBytes,
    long contextNanos,
    long lostNanos,
    int waiting) {
  /** Nothing done. */
  static final NpuActivity NONE = new NpuActivity(0, 0, 0, 0, 0, 0, 0, 0);

  NpuActivity plus(NpuActivity more) {
    return new NpuActivity(
        executions + more.executions,
        workedNanos + more.workedNanos,
        resumed + more.resumed,
        restarted + more.restarted,
        contextBytes + more.contextBytes,
        contextNanos + more.contextNanos,
        lostNanos + more.lostNanos,
        waiting + more.waiting);
  }
}
