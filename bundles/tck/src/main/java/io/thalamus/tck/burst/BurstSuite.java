// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.BurstConfig.Protocol;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Leaks;
import io.thalamus.tck.check.Probes;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFormatException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/**
 * Checks of bursts for any device: one that serves bursts itself, and one whose synchronous
 * execution the service serves them by. Thread-safe; borrows device and service.
 *
 * @param device who is tested
 * @param service that opens the bursts, and serves a device without bursts of its own
 * @param examples of which the device takes all; at least one
 * @param faults how many packets with a fault are made of each example
 * @param seed by which they are chosen
 * @param limit for each answer
 * @param badPackets counts those that were answered
 */
public record BurstSuite(
    Device device,
    BurstService service,
    List<Example> examples,
    int faults,
    long seed,
    Duration limit,
    LongAdder badPackets) {
  /** Longer than any example takes; only an answer that is lost makes anyone wait for it. */
  public static final Duration USUAL_LIMIT = Duration.ofSeconds(20);

  /** The end of the names of checks whose requests are executed by the thread that receives. */
  public static final String BY_CALLER = ", served by the caller";

  private static final int SOME = 4;
  private static final int BURSTS = 40;

  public BurstSuite {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(service, "service");
    examples = List.copyOf(examples);
    Objects.requireNonNull(limit, "limit");
    Objects.requireNonNull(badPackets, "badPackets");
  }

  /** Returns all checks. */
  public List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    checks.addAll(new ClientChecks(this, false).checks());
    checks.addAll(new ClientChecks(this, true).checks());
    checks.addAll(new StopChecks(this).checks());
    checks.addAll(new TokenChecks(this).checks());
    checks.addAll(new PacketChecks(this).checks());
    Example example = examples.getFirst();
    checks.add(
        new Check("threads of bursts", () -> Leaks.threads(BURSTS, () -> openAndClose(example))));
    checks.add(
        new Check("mappings of bursts", () -> Leaks.mappings(BURSTS, () -> openAndClose(example))));
    return checks;
  }

  private void openAndClose(Example example) throws DeviceException, VectorFormatException {
    Probes.outputs(decorated(BurstSettings.DEFAULT), example);
  }

  /** Returns the device as it is by burst. */
  BurstDevice decorated(BurstSettings settings) {
    return new BurstDevice(device, service, settings, limit);
  }

  /** Returns some of the examples, spread over all. */
  List<Example> some() {
    return Probes.some(examples, SOME);
  }

  /** Expects that a burst takes a request. */
  static void send(BurstClient client, Request request, ExecutionConfig config) {
    Expect.that(client.send(request, config), "the burst did not take the request");
  }

  /** Expects that a burst gives a result, and returns it. */
  static ExecutionResult receive(BurstClient client, Duration limit) {
    ExecutionResult result = client.receive(limit.toNanos());
    Expect.that(result != null, "the burst gave no result within " + limit);
    return result;
  }

  RawBurst open(PreparedModel model, Protocol protocol, int resultLength) throws DeviceException {
    return RawBurst.open(service, model, protocol, resultLength, limit);
  }
}
