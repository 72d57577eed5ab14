// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.fence;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.SyncFence;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * A prepared example, its request, and what it computes without fences. Used by one thread, which
 * closes it when nothing executes any more. Borrows the example.
 */
final class FenceTrial implements AutoCloseable {
  private final Duration limit;
  private final PreparedModel prepared;
  private final TestRequest request;
  private final byte[] expected;
  private final byte[] inputs;
  private final byte[] untouched;

  FenceTrial(Device device, DecodedExample decoded, Duration limit) throws DeviceException {
    this.limit = limit;
    this.prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
    this.expected = Probes.outputs(prepared, decoded);
    this.request = TestRequest.of(decoded);
    this.inputs = request.allInputs();
    this.untouched = request.allOutputs();
  }

  /** Begins an execution, which is to be closed first; the outputs hold nothing. */
  Launch launch(List<SyncFence> fences, ExecutionConfig config) {
    removeOutputs();
    return new Launch(prepared, request.request(), fences, config, limit);
  }

  void removeInputs() {
    request.inputs().segment().fill((byte) 0);
  }

  void restoreInputs() {
    request.inputs().segment().copyFrom(MemorySegment.ofArray(inputs));
  }

  void removeOutputs() {
    request.outputs().segment().copyFrom(MemorySegment.ofArray(untouched));
  }

  void expectOutputs(String otherwise) {
    Expect.equal(expected, request.allOutputs(), "the outputs are wrong: " + otherwise);
  }

  void expectUntouched(String why) {
    Expect.that(
        Arrays.equals(untouched, request.allOutputs()), "outputs were written, though " + why);
  }

  /** Expects that the model executes as if nothing had happened. */
  void expectServed() throws Exception {
    restoreInputs();
    try (Launch launch = launch(List.of(SyncFence.signalled()), ExecutionConfig.DEFAULT)) {
      Expect.at("the next execution", launch::done);
    }
    expectOutputs("those of the next execution");
  }

  @Override
  public void close() {
    request.close();
    prepared.close();
  }
}
