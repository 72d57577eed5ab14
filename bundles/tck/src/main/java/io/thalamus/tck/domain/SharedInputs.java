// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.DecodedExample;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The inputs of an example in buffers that any number of executions read at once. Thread-safe; owns
 * the buffers, which end with it.
 */
public final class SharedInputs implements AutoCloseable {
  private final PreparedModel prepared;
  private final DecodedExample example;
  private final TestRequest plain;
  private final BufferedRequest inputs;

  /** Copies the inputs into buffers, each where the device has one. */
  public SharedInputs(Device device, PreparedModel prepared, DecodedExample example)
      throws DeviceException {
    this.prepared = Objects.requireNonNull(prepared, "prepared");
    this.example = Objects.requireNonNull(example, "example");
    plain = TestRequest.of(example);
    try {
      inputs = BufferedRequest.of(device, prepared, example.model().main(), plain.request());
    } catch (DeviceException e) {
      plain.close();
      throw e;
    }
  }

  /** All outputs of one more execution, in memory of its own. */
  public byte[] execute() {
    try (TestRequest own = TestRequest.of(example)) {
      List<MemoryPool> pools = new ArrayList<>(inputs.request().pools());
      List<Argument> outputs = new ArrayList<>();
      for (Argument output : own.request().outputs()) {
        Location place = (Location) output;
        outputs.add(new Location(pools.size(), place.offset(), place.length(), place.shape()));
      }
      pools.add(new MemoryPool.Shared(own.outputs()));
      Request request = new Request(inputs.request().inputs(), outputs, pools);
      ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
      if (!(result instanceof ExecutionResult.Completed)) {
        throw new IllegalStateException(example.example().name() + " ended with " + result);
      }
      return own.allOutputs();
    }
  }

  @Override
  public void close() {
    inputs.close();
    plain.close();
  }
}
