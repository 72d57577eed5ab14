// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** ONNX Runtime on its CPU provider. */
final class OnnxPeer implements Peer {
  private final OrtSession.SessionOptions.OptLevel level;
  private final OrtEnvironment environment =
      OrtEnvironment.getEnvironment(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL, "zoo");

  /**
   * Creates the peer.
   *
   * @param isOptimized whether it rewrites graphs, as it usually does. The order of the sums
   *     depends on that, and by it where a network rounds that quantizes its activations
   */
  OnnxPeer(boolean isOptimized) {
    level =
        isOptimized
            ? OrtSession.SessionOptions.OptLevel.ALL_OPT
            : OrtSession.SessionOptions.OptLevel.NO_OPT;
  }

  @Override
  public String name() {
    return "onnxruntime";
  }

  @Override
  public Loaded load(Path file, List<Input> inputs) throws OrtException {
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(1);
      options.setInterOpNumThreads(1);
      options.setOptimizationLevel(level);
      return new Session(environment, environment.createSession(file.toString(), options), inputs);
    }
  }

  private static final class Session implements Loaded {
    private final OrtEnvironment environment;
    private final OrtSession session;
    private final List<Input> inputs;
    private final Map<String, OnnxTensor> given = new LinkedHashMap<>();

    Session(OrtEnvironment environment, OrtSession session, List<Input> inputs) {
      this.environment = environment;
      this.session = session;
      this.inputs = inputs;
    }

    @Override
    public List<Value> run(List<double[]> numbers) throws OrtException {
      give(numbers);
      try (OrtSession.Result result = session.run(given)) {
        List<Value> outputs = new ArrayList<>();
        for (Map.Entry<String, OnnxValue> output : result) {
          outputs.add(value((OnnxTensor) output.getValue()));
        }
        return outputs;
      }
    }

    @Override
    public long again() throws OrtException {
      long start = System.nanoTime();
      session.run(given).close();
      return System.nanoTime() - start;
    }

    private void give(List<double[]> numbers) throws OrtException {
      takeBack();
      int index = 0;
      for (String name : session.getInputNames()) {
        TensorInfo info = (TensorInfo) session.getInputInfo().get(name).getInfo();
        if (Arrays.stream(info.getShape()).anyMatch(size -> size == 0)) {
          // Models as we read them have no input without elements.
          ByteBuffer none = ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());
          given.put(name, OnnxTensor.createTensor(environment, none, info.getShape(), info.type));
          continue;
        }
        Value value = Value.of(elements(info.type), inputs.get(index).shape(), numbers.get(index));
        index++;
        ByteBuffer bytes =
            ByteBuffer.allocateDirect(value.bytes().length).order(ByteOrder.nativeOrder());
        bytes.put(value.bytes()).flip();
        long[] shape = Arrays.stream(value.shape().toArray()).asLongStream().toArray();
        given.put(name, OnnxTensor.createTensor(environment, bytes, shape, info.type));
      }
    }

    private void takeBack() {
      given.values().forEach(OnnxTensor::close);
      given.clear();
    }

    private static Value value(OnnxTensor tensor) {
      TensorInfo info = tensor.getInfo();
      ByteBuffer buffer = tensor.getByteBuffer();
      byte[] bytes = new byte[buffer == null ? 0 : buffer.remaining()];
      if (buffer != null) {
        buffer.get(bytes);
      }
      int[] shape = Arrays.stream(info.getShape()).mapToInt(Math::toIntExact).toArray();
      return new Value(elements(info.type), Shape.of(shape), bytes, 0);
    }

    private static Elements elements(OnnxJavaType type) {
      return switch (type) {
        case FLOAT -> Elements.FLOAT32;
        case DOUBLE -> Elements.FLOAT64;
        case FLOAT16 -> Elements.FLOAT16;
        case INT8 -> Elements.INT8;
        case UINT8 -> Elements.UINT8;
        case INT16 -> Elements.INT16;
        case INT32 -> Elements.INT32;
        case INT64 -> Elements.INT64;
        case BOOL -> Elements.BOOL8;
        default -> throw new IllegalArgumentException("elements of " + type);
      };
    }

    @Override
    public void close() {
      takeBack();
      try {
        session.close();
      } catch (OrtException e) {
        throw new IllegalStateException("the session does not close", e);
      }
    }
  }
}
