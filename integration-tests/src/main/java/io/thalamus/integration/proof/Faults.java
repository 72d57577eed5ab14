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
 * Hurts a device through the command that its bundle brings, by a script of a seed. Faults that
 * give wrong answers in silence are none of these: what notices them is proved by itself. Not
 * thread-safe.
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

  /** Hurts the device in the next way of the script. */
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

  /** How many so far, by kind. */
  Map<String, Integer> done() {
    return done;
  }
}
