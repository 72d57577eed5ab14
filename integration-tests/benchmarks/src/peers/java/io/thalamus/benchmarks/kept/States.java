// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kept;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.benchmarks.engine.Container;
import io.thalamus.hal.Device;
import io.thalamus.vectors.ConformanceData;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * The entry of {@code integration-tests/run states}: a network of noise suppression over frames of
 * sound, whose state stays in memories of the devices, goes through arrays, or from one tensor of
 * ONNX Runtime to the next. All take turns. Fails if bytes of a state are copied that stays on a
 * device, or if results differ.
 */
public final class States {
  private static final int BINS = 257;
  private static final int STATE = 512;
  private static final int ROUNDS = 8;
  private static final long SEED = 3;
  private static final float DIFFERENCE = 1e-3f;

  private static boolean isBroken;

  private States() {}

  /** Something that takes a frame and answers with another, and has a state. */
  private interface Network {
    String name();

    float[] run(float[] frame) throws Exception;

    void close() throws Exception;
  }

  /**
   * Takes {@code --frames N} and {@code --devices LIST}, each of them with {@code cpu} for what it
   * does not take.
   */
  public static void main(String[] arguments) throws Exception {
    int frames = 1000;
    List<String> devices = List.of("simd");
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      switch (arguments[i]) {
        case "--frames" -> frames = Integer.parseInt(arguments[i + 1]);
        case "--devices" -> devices = List.of(arguments[i + 1].split(","));
        default -> {
          System.err.println("unknown: " + arguments[i] + "; known are --frames and --devices");
          System.exit(2);
        }
      }
    }
    Path models = ConformanceData.models().orElseThrow();
    Set<String> started = new HashSet<>(devices);
    started.add("cpu");
    try (Container container =
        Container.start(Path.of(System.getProperty("thalamus.home")), started, Set.of(), 1)) {
      for (String device : started) {
        container.service(Device.class, "(thalamus.device=" + device + ")");
      }
      NeuralNetworks networks = container.service(NeuralNetworks.class, "(objectClass=*)");
      List<Network> all = new ArrayList<>();
      try (LoadedModel model = networks.load(models.resolve("dtln_1_tflite/model.tflite"))) {
        for (String device : devices) {
          all.add(new OnDevice(networks, model, device));
          all.add(new InArrays(networks, model, device));
        }
        all.add(new OnnxRuntime(models.resolve("dtln_1_onnx/model.onnx")));
        compare(all, frames);
        for (Network network : all) {
          network.close();
        }
      }
    }
    System.exit(isBroken ? 1 : 0);
  }

  private static void compare(List<Network> all, int frames) throws Exception {
    double[][] micros = new double[all.size()][ROUNDS];
    float[][] last = new float[all.size()][];
    for (int round = -1; round < ROUNDS; round++) {
      for (int i = 0; i < all.size(); i++) {
        SplittableRandom random = new SplittableRandom(SEED + round);
        float[] frame = new float[BINS];
        long nanos = 0;
        for (int k = 0; k < frames; k++) {
          for (int bin = 0; bin < BINS; bin++) {
            frame[bin] = (float) random.nextDouble();
          }
          long start = System.nanoTime();
          last[i] = all.get(i).run(frame);
          nanos += System.nanoTime() - start;
        }
        if (round >= 0) { // The first round warms up.
          micros[i][round] = nanos / 1e3 / frames;
        }
      }
    }
    for (int i = 0; i < all.size(); i++) {
      Arrays.sort(micros[i]);
      print(all.get(i).name() + ".microsPerFrame.median", "%.1f".formatted(micros[i][ROUNDS / 2]));
      print(all.get(i).name() + ".microsPerFrame.fastest", "%.1f".formatted(micros[i][0]));
      float difference = 0;
      for (int bin = 0; bin < BINS; bin++) {
        difference = Math.max(difference, Math.abs(last[i][bin] - last[0][bin]));
      }
      print(all.get(i).name() + ".difference", "%.1e".formatted(difference));
      promise(all.get(i).name() + " computes the same", difference < DIFFERENCE);
      if (all.get(i) instanceof OnDevice network && all.get(i + 1) instanceof InArrays arrays) {
        network.tell(arrays.copied);
      }
    }
  }

  private static void print(String name, Object value) {
    System.out.println(name + " = " + value);
  }

  private static void promise(String what, boolean isKept) {
    print(what, isKept ? "kept" : "BROKEN");
    isBroken |= !isKept;
  }

  /** Returns the bytes that devices copied to and from their memory. */
  private static long devices(CopiedBytes copied) {
    return copied.deviceIn() + copied.deviceOut();
  }

  private static MemorySegment outside(int floats) {
    return Arena.ofAuto().allocate((long) floats * Float.BYTES, 64);
  }

  private static void toArray(MemorySegment from, float[] to) {
    MemorySegment.copy(from, 0, MemorySegment.ofArray(to), 0, (long) to.length * Float.BYTES);
  }

  private static Compilation compile(NeuralNetworks networks, LoadedModel model, String device)
      throws Exception {
    return networks.compile(
        model.model(), CompilationOptions.DEFAULT.withDevices(List.of(device, "cpu")));
  }

  /** The state alternates between two memories. */
  private static final class OnDevice implements Network {
    private final String device;
    private final Compilation compilation;
    private final Memory[] states = new Memory[2];
    private final MemorySegment frame = outside(BINS);
    private final MemorySegment result = outside(BINS);
    private final float[] answer = new float[BINS];
    private long executions;
    private CopiedBytes most = CopiedBytes.NONE;

    OnDevice(NeuralNetworks networks, LoadedModel model, String device) throws Exception {
      this.device = device;
      compilation = compile(networks, model, device);
      for (int i = 0; i < states.length; i++) {
        states[i] =
            networks.createMemory(
                MemoryDesc.builder("state " + i)
                    .input(compilation, 1)
                    .output(compilation, 1)
                    .build());
      }
      states[0].copyFrom(MemorySegment.ofArray(new float[STATE]));
    }

    @Override
    public String name() {
      return device + ".memory";
    }

    @Override
    public float[] run(float[] values) throws Exception {
      MemorySegment.copy(MemorySegment.ofArray(values), 0, frame, 0, frame.byteSize());
      int from = (int) (executions++ % 2);
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, frame)
              .setInput(1, states[from])
              .setOutput(0, result)
              .setOutput(1, states[1 - from])
              .compute()
              .orThrow();
      if (devices(report.copied()) > devices(most)) {
        most = report.copied();
      }
      toArray(result, answer);
      return answer;
    }

    /** As much less is copied as the state has, in and out. */
    void tell(long inArrays) {
      long copied = 2L * STATE * Float.BYTES - (inArrays - devices(most));
      print(name() + ".places", states[0].describe().places());
      print(name() + ".executions", executions);
      print(name() + ".bytesOfStateCopied", Math.max(0, copied));
      promise(name() + ": no byte of the state is copied", copied <= 0);
      promise(
          name() + ": the state is on the device", states[0].describe().places().contains(device));
    }

    @Override
    public void close() {
      states[0].close();
      states[1].close();
      compilation.close();
    }
  }

  /** The state is an array that the next execution is given. */
  private static final class InArrays implements Network {
    private final String device;
    private final Compilation compilation;
    private final float[] answer = new float[BINS];
    private float[] state = new float[STATE];
    private float[] next = new float[STATE];
    private long copied;

    InArrays(NeuralNetworks networks, LoadedModel model, String device) throws Exception {
      this.device = device;
      compilation = compile(networks, model, device);
    }

    @Override
    public String name() {
      return device + ".arrays";
    }

    @Override
    public float[] run(float[] frame) throws Exception {
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, MemorySegment.ofArray(frame))
              .setInput(1, MemorySegment.ofArray(state))
              .setOutput(0, MemorySegment.ofArray(answer))
              .setOutput(1, MemorySegment.ofArray(next))
              .compute()
              .orThrow();
      copied = devices(report.copied());
      float[] last = state;
      state = next;
      next = last;
      return answer;
    }

    @Override
    public void close() {
      compilation.close();
    }
  }

  /** The tensor of a state is the input of the next call. */
  private static final class OnnxRuntime implements Network {
    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final OrtSession session;
    private final FloatBuffer frame =
        ByteBuffer.allocateDirect(BINS * Float.BYTES)
            .order(ByteOrder.nativeOrder())
            .asFloatBuffer();
    private final OnnxTensor input;
    private final float[] answer = new float[BINS];
    private OnnxTensor first;
    private OrtSession.Result last;

    OnnxRuntime(Path model) throws OrtException {
      try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
        options.setIntraOpNumThreads(1);
        options.setInterOpNumThreads(1);
        options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.ALL_OPT);
        session = environment.createSession(model.toString(), options);
      }
      input = OnnxTensor.createTensor(environment, frame, new long[] {1, 1, BINS});
      first =
          OnnxTensor.createTensor(
              environment, FloatBuffer.allocate(STATE), new long[] {1, 2, STATE / 4, 2});
    }

    @Override
    public String name() {
      return "onnxruntime";
    }

    @Override
    public float[] run(float[] values) throws OrtException {
      frame.put(0, values);
      OnnxTensor state = last == null ? first : (OnnxTensor) last.get(1);
      OrtSession.Result result = session.run(Map.of("input_2", input, "input_3", state));
      if (last != null) {
        last.close();
      }
      last = result;
      ((OnnxTensor) result.get(0)).getFloatBuffer().get(answer);
      return answer;
    }

    @Override
    public void close() throws OrtException {
      last.close();
      first.close();
      input.close();
      session.close();
    }
  }
}
