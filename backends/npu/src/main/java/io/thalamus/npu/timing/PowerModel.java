// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The energy of the accelerator: so much for each piece of {@link Work}, and a static power for as
 * long as it lasts. Immutable.
 *
 * <p>The energies are those of Horowitz, "Computing's energy problem (and what we can do about
 * it)", ISSCC 2014, figure 1.1.9, for 45 nm at 0.9 V: an 8-bit multiplication 0.2 pJ, a 32-bit
 * integer addition 0.1 pJ, a 16-bit float multiplication 1.1 pJ, a 32-bit float addition 0.9 pJ; 64
 * bits from an SRAM of 8 KB 10 pJ, of 32 KB 20 pJ, of 1 MB 100 pJ; 64 bits from DRAM 1.3 to 2.6 nJ,
 * of which the middle is taken. Between the sizes of SRAM, energy is interpolated on logarithmic
 * scales. Switching costs grow with the square of the voltage, leakage in proportion to it; DRAM
 * has its own supply and keeps its cost. The table has no leakage: that is a setting.
 */
public final class PowerModel {
  private static final double PICO = 1e-12;
  private static final double INT_MAC = (0.2 + 0.1) * PICO;
  private static final double FLOAT_MAC = (1.1 + 0.9) * PICO;
  private static final double DRAM_BYTE = (1.3e3 + 2.6e3) / 2 / 8 * PICO;

  private static final double[] SRAM_BYTES = {8 << 10, 32 << 10, 1 << 20};
  private static final double[] SRAM_ACCESS = {10 * PICO, 20 * PICO, 100 * PICO};

  private final double scratchpadByte;
  private final double leakageWatts;

  /**
   * Makes a model.
   *
   * @param scratchpadBytes the size of the scratchpad; larger ones cost more for each byte
   * @param leakageWatts the static power at 0.9 V
   */
  public PowerModel(long scratchpadBytes, double leakageWatts) {
    if (scratchpadBytes < 1 || !(leakageWatts >= 0) || Double.isInfinite(leakageWatts)) {
      throw new IllegalArgumentException(
          "a scratchpad of " + scratchpadBytes + " bytes that leaks " + leakageWatts + " W");
    }
    this.scratchpadByte = sramAccess(scratchpadBytes) / 8;
    this.leakageWatts = leakageWatts;
  }

  /** The first and last segment are extended beyond the table. */
  private static double sramAccess(double bytes) {
    int i = bytes < SRAM_BYTES[1] ? 0 : 1;
    double place = Math.log(bytes / SRAM_BYTES[i]) / Math.log(SRAM_BYTES[i + 1] / SRAM_BYTES[i]);
    return SRAM_ACCESS[i] * Math.pow(SRAM_ACCESS[i + 1] / SRAM_ACCESS[i], place);
  }

  /** The energy of work that takes so many cycles at a point, in joules. */
  public double joules(Work work, long cycles, OperatingPoint point) {
    return dynamicJoules(work, point) + staticWatts(point) * point.seconds(cycles);
  }

  /** The energy of standing idle for a time, in joules. */
  public double idleJoules(long nanos, OperatingPoint point) {
    return staticWatts(point) * nanos * 1e-9;
  }

  double dynamicJoules(Work work, OperatingPoint point) {
    double switched =
        INT_MAC * work.intMacs()
            + FLOAT_MAC * work.floatMacs()
            + scratchpadByte * work.scratchpadBytes();
    return switched * square(point.volts() / OperatingPoint.REFERENCE_VOLTS)
        + DRAM_BYTE * work.dramBytes();
  }

  /** Returns the power that the idle chip draws, in watts. */
  public double staticWatts(OperatingPoint point) {
    return leakageWatts * point.volts() / OperatingPoint.REFERENCE_VOLTS;
  }

  /**
   * Returns the most that the chip draws, in watts: all multipliers of the array busy with
   * integers, one byte for each row and a 32-bit sum for each column to or from the scratchpad in
   * each cycle. The memory outside heats another package and is left out.
   */
  public double peakWatts(ArrayTiming array, OperatingPoint point) {
    Work cycle =
        new Work((long) array.rows() * array.columns(), 0, array.rows() + 4L * array.columns(), 0);
    return dynamicJoules(cycle, point) * point.hertz() + staticWatts(point);
  }

  private static double square(double x) {
    return x * x;
  }
}
