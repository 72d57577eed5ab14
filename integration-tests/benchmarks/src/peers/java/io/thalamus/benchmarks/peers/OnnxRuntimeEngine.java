// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.peers;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import io.thalamus.benchmarks.engine.Engine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** ONNX Runtime with all graph optimizations, on its CPU provider. */
public final class OnnxRuntimeEngine implements Engine {
  @Override
  public String name() {
    return "onnxruntime";
  }

  @Override
  public String format() {
    return "onnx";
  }

  @Override
  public Host start(int threads) {
    return (model, inputs, priority) -> open(model, inputs, threads);
  }

  private static Session open(Path model, List<byte[]> inputs, int threads) throws OrtException {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(threads);
      options.setInterOpNumThreads(1);
      options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.ALL_OPT);
      OrtSession session = environment.createSession(model.toString(), options);
      Map<String, OnnxTensor> tensors = new LinkedHashMap<>();
      for (String name : session.getInputNames()) {
        TensorInfo info = (TensorInfo) session.getInputInfo().get(name).getInfo();
        byte[] bytes = inputs.get(tensors.size());
        ByteBuffer buffer =
            ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.nativeOrder()).put(bytes);
        tensors.put(
            name, OnnxTensor.createTensor(environment, buffer.flip(), info.getShape(), info.type));
      }
      return new Running(environment, session, tensors);
    }
  }

  private static final class Running implements Session {
    private final OrtEnvironment environment;
    private final OrtSession session;
    private final Map<String, OnnxTensor> inputs;
    private OrtSession.Result last;

    Running(OrtEnvironment environment, OrtSession session, Map<String, OnnxTensor> inputs) {
      this.environment = environment;
      this.session = session;
      this.inputs = inputs;
    }

    @Override
    public void run() throws OrtException {
      if (last != null) {
        last.close();
      }
      last = session.run(inputs);
    }

    @Override
    public List<byte[]> outputs() throws OrtException {
      List<byte[]> outputs = new ArrayList<>();
      for (Map.Entry<String, OnnxValue> output : last) {
        ByteBuffer buffer = ((OnnxTensor) output.getValue()).getByteBuffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        outputs.add(bytes);
      }
      return outputs;
    }

    @Override
    public String note() {
      return "ONNX Runtime " + environment.getVersion();
    }

    @Override
    public void close() {
      if (last != null) {
        last.close();
      }
      inputs.values().forEach(OnnxTensor::close);
      try {
        session.close();
      } catch (OrtException e) {
        throw new IllegalStateException("the session does not close", e);
      }
    }
  }
}
