// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.nio.file.Path;
import java.util.Random;

/**
 * A process that compiles models over and over until it is killed: model {@code n} doubles its
 * input {@code n} times, so that every process knows the code behind a number.
 */
final class DoublingProcess {
  static final int MODELS = 4;

  private static final CachingDevice.Vault VAULT =
      new CachingDevice.Vault() {
        @Override
        public long put(Model model) {
          return model.main().operations().size();
        }

        @Override
        public Model get(long number) {
          return model((int) number);
        }
      };

  private DoublingProcess() {}

  static CachingDevice device() {
    return new CachingDevice(
        LimitedDevice.info("test-a", DeviceType.ACCELERATOR, 0.5)
            .cacheNeeds(new CacheNeeds(2, 1))
            .build(),
        (graph, operation) -> true,
        VAULT);
  }

  private static Model model(int doublings) {
    Graphs.Builder g = new Graphs.Builder(2);
    int x = g.input("x");
    for (int i = 0; i < doublings; i++) {
      int to = i == doublings - 1 ? g.output("y") : g.temporary("t" + i);
      g.op(OperationCode.ADD, x, x, to);
      x = to;
    }
    return g.model();
  }

  /** Compiles a model, fails where its answer is wrong, and says where it came from. */
  static Origin compile(TestRuntime runtime, Path directory, int doublings) throws Exception {
    byte[] token = new byte[CacheToken.SIZE];
    token[0] = (byte) doublings;
    CompilationOptions options =
        CompilationOptions.DEFAULT.with(new CacheOptions(directory, CacheToken.of(token), ""));
    try (Compilation compilation = runtime.networks().compile(model(doublings), options)) {
      float[] result = new float[2];
      compilation
          .createExecution()
          .setInput(0, Graphs.floats(1, 3))
          .setOutput(0, Graphs.floats(result))
          .compute()
          .orThrow();
      if (result[0] != 1 << doublings || result[1] != 3 << doublings) {
        throw new AssertionError("a wrong answer: " + result[0] + " of model " + doublings);
      }
      return compilation.caching().getFirst().origin();
    }
  }

  /** Compiles for ever; refuses to restore half of the time, so that files are written often. */
  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    Random random = new Random(Long.parseLong(arguments[1]));
    CachingDevice device = device();
    try (TestRuntime runtime = TestRuntime.of(device)) {
      while (true) {
        device.refuse(random.nextBoolean() ? io.thalamus.model.ErrorStatus.GENERAL_FAILURE : null);
        compile(runtime, directory, 1 + random.nextInt(MODELS));
        System.out.println("compiled");
      }
    }
  }
}
