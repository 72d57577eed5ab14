// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.util.Arrays;
import java.util.List;

/** The entry of {@code integration-tests/run}: one proof by name, with its options. */
public final class Main {
  private static final List<Proof> PROOFS =
      List.of(
          new StartUp(),
          new Operations(),
          new Mutations(),
          new Coupling(),
          new RandomGraphs(),
          new Npu(),
          new NpuPreemption(),
          new SharedCache(),
          new Queues(),
          new SessionPicture(),
          new Serving(),
          new ServedPage(),
          new ServingFuzz(),
          new ServingOverload(),
          new ServingOverhead(),
          new ServingLeaving(),
          new ServingEndings(),
          new InFramework(
              "models",
              "trained public models against stored outputs (--dir DIR --device simd,cpu --models"
                  + " LIST --equal-to cpu)",
              List.of()),
          new InFramework(
              "policies",
              "the searching policy beside NNAPI's, expected and measured (--dir DIR --device"
                  + " cpu,simd,npu --models LIST --policy search --measure 30000 --settled 15000"
                  + " --millis 2000 --noise 10)",
              List.of()),
          new InFramework(
              "wrong-answers",
              "how many wrong answers of a device are found by sampling (--requests 1000 --rate 0.1"
                  + " --sampling 0.01,0.1,1 --seed 7 --model FILE)",
              List.of()),
          new InFramework(
              "damages",
              "compilations from a cache of which each byte is flipped, and files are damaged and"
                  + " rewritten meanwhile (--device simd --flips ALL --damages 2000"
                  + " --rewrites 1000 --seed 1 --model FILE)",
              List.of()),
          new InFramework(
              "hotplug",
              "requests while a device comes and goes (--requests 1000 --threads 4 --cycles 20"
                  + " --device simd --models LIST --serve 800 --absent 300 --recording FILE)",
              List.of("simd")),
          new InFramework(
              "bursts",
              "frames by burst while a device is updated (--frames 10000 --updates 20 --depth 2"
                  + " --device npu --model kws_dscnn_int8)",
              List.of("npu")),
          new InFramework(
              "priorities",
              "a model of high priority while its device is saturated, and the shares of two"
                  + " clients (--device simd --low mobilenet_v2_100_224_uint8 --high kws_dscnn_int8"
                  + " --threads 8 --every 20 --windows 5 --millis 5000 --most 200 --timed 1"
                  + " --isolated 0; --low convolution for one operation of half a second)",
              List.of()),
          new InFramework(
              "admission",
              "submissions at three times the capacity of a device, which try again when they are"
                  + " told to (--submissions 1000000 --wave 24000 --overload 3"
                  + " --device cpu --seed 1)",
              List.of()),
          new InFramework(
              "endings",
              "executions that are cancelled, and whose bursts and compilations are closed, at"
                  + " random moments (--endings 10000 --devices cpu,simd --seed 1)",
              List.of()),
          new InFramework(
              "isolation",
              "requests while the process of an isolated device is killed, and one that crashes"
                  + " (--kills 100 --threads 4 --device simd --crashes 3 --serve 100 --timed 1"
                  + " --models LIST)",
              List.of("simd")),
          new InFramework(
              "memory",
              "state on a device that is updated, and has faults, and requests between guarded"
                  + " bytes (--device npu --executions 1000 --updates 20 --faults 100 --seed 1"
                  + " --requests 100000 --threads 8 --millis 0)",
              List.of("npu")),
          new InFramework(
              "chaos",
              "requests at a steady rate while devices come and go and one of them has faults"
                  + " (--requests 10000 --rate 12 --threads 4 --cycles 100 --devices simd,npu"
                  + " --faulty npu --faults 200 --seed 1 --models LIST --serve 1200 --warm-up 3"
                  + " --timed 1)",
              List.of("simd", "npu")));

  private Main() {}

  /**
   * Runs a proof and ends with 0 where every promise was kept, 1 where one was broken, 2 for a name
   * or option that does not exist.
   *
   * @param arguments the name and the proof's own options
   * @throws Exception whatever the proof could not deal with
   */
  public static void main(String[] arguments) throws Exception {
    List<String> words = Arrays.asList(arguments);
    if (!words.isEmpty()) {
      for (Proof proof : PROOFS) {
        if (proof.name().equals(words.getFirst())) {
          System.exit(run(proof, words.subList(1, words.size())));
        }
      }
      System.err.println("no proof " + words.getFirst());
    }
    System.err.println("usage: integration-tests/run NAME [--option VALUE]...");
    PROOFS.forEach(proof -> System.err.println("  " + proof.name() + ": " + proof.purpose()));
    System.exit(2);
  }

  private static int run(Proof proof, List<String> options) throws Exception {
    Figures figures = new Figures(System.out::println);
    try {
      proof.run(new Settings(options), figures);
    } catch (Settings.UnknownOptionException e) {
      System.err.println(proof.name() + ": " + e.getMessage());
      return 2;
    }
    return figures.broken() == 0 ? 0 : 1;
  }
}
