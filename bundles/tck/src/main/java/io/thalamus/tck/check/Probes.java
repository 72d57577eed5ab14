// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFormatException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Uses of examples and models that several groups share. */
public final class Probes {
  /** Longer than any example takes; only a fence that is lost makes anyone wait for it. */
  private static final long FENCE_SECONDS = 120;

  private Probes() {}

  /** Returns some of these examples, about as many, spread over all. */
  public static List<Example> some(List<Example> all, int count) {
    int step = Math.max(1, all.size() / count);
    return IntStream.iterate(0, i -> i < all.size(), i -> i + step).mapToObj(all::get).toList();
  }

  /** Something that is done with a prepared example. */
  @FunctionalInterface
  public interface Use {
    /** Uses it. */
    void run(PreparedModel prepared, DecodedExample decoded) throws Exception;
  }

  /** Prepares an example, uses it and closes it. */
  public static void prepared(Device device, Example example, Use use) throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      use.run(prepared, decoded);
    }
  }

  /** All outputs of one run, with new memory. */
  public static byte[] outputs(PreparedModel prepared, DecodedExample decoded) {
    try (TestRequest request = TestRequest.of(decoded)) {
      Expect.completed(
          decoded.example().name(), prepared.execute(request.request(), ExecutionConfig.DEFAULT));
      return request.allOutputs();
    }
  }

  /** All outputs of an example on a device. */
  public static byte[] outputs(Device device, Example example)
      throws DeviceException, VectorFormatException {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      return outputs(prepared, decoded);
    }
  }

  /** Returns how a fenced execution behind a fence ends, in whatever way it says so. */
  public static ErrorStatus fenced(
      PreparedModel prepared, Request request, SyncFence fence, ExecutionConfig config)
      throws Exception {
    try {
      FencedExecution execution = prepared.executeFenced(request, List.of(fence), config);
      execution.syncFence().future().get(FENCE_SECONDS, TimeUnit.SECONDS);
      return execution.executionInfo().get().result().status();
    } catch (DeviceException e) {
      return e.status();
    } catch (ExecutionException | CompletionException e) {
      if (e.getCause() instanceof DeviceException cause) {
        return cause.status();
      }
      throw e;
    }
  }

  /**
   * Returns whether a device takes all of a model, or cannot even be asked: then the check that
   * needs to know fails by it.
   */
  public static boolean takes(Device device, Model model) {
    try {
      return device.supportedOperations(model).nextClearBit(0) >= model.main().operations().size();
    } catch (DeviceException | RuntimeException | Error e) {
      return true;
    }
  }

  /** Returns a chain of RELU or ADD of float32 that a device takes. */
  public static Optional<Model> chain(Device device, int count, int... shape) {
    return Stream.of(OperationCode.RELU, OperationCode.ADD)
        .map(operation -> TestGraph.chain(operation, count, shape))
        .filter(model -> takes(device, model))
        .findFirst();
  }

  /** Returns whether a device takes all of an example, or cannot even be asked. */
  public static boolean takes(Device device, Example example) {
    try (DecodedExample decoded = example.decode()) {
      return takes(device, decoded.model());
    } catch (VectorFormatException e) {
      throw new IllegalStateException(example.name() + " was generated wrongly", e);
    }
  }
}
