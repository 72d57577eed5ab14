// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;

/**
 * Faults of a device by the command {@code nn:chaos}, by a script of a seed. Those that change
 * answers silently are left out: another proof shows what notices them. Not thread-safe.
 */
final class Faults {
  private static final List<String> SCRIPT =
      List.of(
          "crash --once",
          "crash DEVICE_UNAVAILABLE --once",
          "latency 40ms --once",
          "hang --for 80ms --once",
          "exhaust 1",
          "lose --for 120ms");

  private final CommandProcessor gogo;
  private final String device;
  private final SplittableRandom random;
  private final Map<String, Integer> done = new TreeMap<>();

  Faults(CommandProcessor gogo, String device, long seed) {
    this.gogo = gogo;
    this.device = device;
    this.random = new SplittableRandom(seed);
  }

  /**
   * Takes the device over at once, which makes it leave and come back, and not at its first fault.
   */
  void takeOver() throws Exception {
    execute("nn:chaos " + device + " reset");
  }

  /** Injects the next fault of the script. */
  void strike() throws Exception {
    String fault = SCRIPT.get(random.nextInt(SCRIPT.size()));
    execute("nn:chaos " + device + " " + fault);
    done.merge(fault.replaceFirst(" .*", ""), 1, Integer::sum);
  }

  private void execute(String command) throws Exception {
    ByteArrayOutputStream nowhere = new ByteArrayOutputStream();
    try (CommandSession session =
        gogo.createSession(new ByteArrayInputStream(new byte[0]), nowhere, nowhere)) {
      session.execute(command);
    }
  }

  /** Returns how many there were so far, by kind. */
  Map<String, Integer> done() {
    return done;
  }
}
