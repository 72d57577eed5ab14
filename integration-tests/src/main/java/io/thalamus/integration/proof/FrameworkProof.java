// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * A proof as a service that code outside the framework can call, since it has only the JDK's types:
 * the options and where lines go, to the exit status (0 kept, 1 broken, 2 wrong usage). Its
 * property {@value #NAME} is the word on the command line. Calls come one at a time.
 */
public abstract class FrameworkProof
    implements BiFunction<List<String>, Consumer<String>, Integer> {
  /** The service property with the proof's name. */
  public static final String NAME = "thalamus.proof";

  /** The status of a call whose options are not the proof's. */
  public static final int WRONG_USAGE = 2;

  private static final long PATIENCE_SECONDS = 20;
  private static final long PAUSE_MILLIS = 2;

  @Override
  public final Integer apply(List<String> options, Consumer<String> out) {
    Figures figures = new Figures(out);
    try {
      run(new Settings(options), figures);
    } catch (Settings.UnknownOptionException e) {
      out.accept("wrong usage: " + e.getMessage());
      return WRONG_USAGE;
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
    return figures.broken() == 0 ? 0 : 1;
  }

  /**
   * Runs to the end, giving every figure to {@code figures} as soon as it is known.
   *
   * @throws Exception anything that keeps the proof from being made
   */
  protected abstract void run(Settings settings, Figures figures) throws Exception;

  /** Returns as soon as a device serves; fails where it does not within 20 seconds. */
  static void awaitDevice(NeuralNetworks networks, String id) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (networks.devices().stream()
        .noneMatch(
            device ->
                device.id().equals(id) && device.state() == DeviceDescription.State.AVAILABLE)) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(id + " does not serve");
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }
}
