// SPDX-License-Identifier: Apache-2.0
package io.thalamus.clients;

import com.google.protobuf.ByteString;
import inference.GrpcPredictV2.InferTensorContents;
import inference.GrpcPredictV2.ModelInferRequest;
import inference.GrpcPredictV2.ModelInferRequest.InferInputTensor;
import inference.GrpcPredictV2.ModelInferResponse;
import inference.GrpcPredictV2.ModelMetadataResponse;
import inference.GrpcPredictV2.ModelReadyResponse;
import inference.GrpcPredictV2.ServerLiveResponse;
import inference.GrpcPredictV2.ServerReadyResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.impl.engine.SimpleCamelContext;

/**
 * Apache Camel's KServe component as it is published, against {@code ./thalamus serve} in a process
 * of its own: liveness, readiness, metadata, and inferences with raw and typed contents, whose
 * answers must be those of the device {@code cpu} in a third process, bit by bit.
 */
public final class Camel {
  private static final int INPUT_BYTES = 28 * 28;

  private final Path home = Path.of(System.getProperty("thalamus.home"));
  private final Path folder;
  private final Path model;
  private boolean isBroken;

  private Camel(Path folder) {
    this.folder = folder;
    this.model = home.resolve("samples/digits/digits.tflite");
  }

  /** Runs the proof: {@code [REQUESTS [SEED]]}. */
  public static void main(String[] args) throws Exception {
    int requests = args.length > 0 ? Integer.parseInt(args[0]) : 20;
    long seed = args.length > 1 ? Long.parseLong(args[1]) : new Random().nextLong();
    System.out.println("seed = " + seed);
    Path folder = Files.createTempDirectory("thalamus-camel");
    Camel proof = new Camel(folder);
    try {
      proof.run(requests, new Random(seed));
    } finally {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(each);
        }
      }
    }
    System.exit(proof.isBroken ? 1 : 0);
  }

  private void run(int requests, Random random) throws Exception {
    byte[][] inputs = new byte[requests][INPUT_BYTES];
    byte[][] expected = reference(inputs, random);
    Path models = Files.createDirectory(folder.resolve("models"));
    Files.copy(model, models.resolve("digits.tflite"));
    Process server =
        thalamus(
                "storage",
                "serve",
                "--models",
                models.toString(),
                "--port",
                "0",
                "--grpc-port",
                "0",
                "--grace",
                "0")
            .start();
    try {
      String line = String.valueOf(server.inputReader().readLine());
      Matcher port = Pattern.compile("grpc://127\\.0\\.0\\.1:(\\d+)").matcher(line);
      if (!port.find()) {
        throw new IOException("the server says: " + line);
      }
      try (SimpleCamelContext camel = new SimpleCamelContext()) {
        camel.start();
        ask(camel.createProducerTemplate(), "127.0.0.1:" + port.group(1), inputs, expected);
      }
    } finally {
      server.destroy();
      promise("the server ends with 0", server.waitFor() == 0);
    }
  }

  private ProcessBuilder thalamus(String storage, String... words) {
    List<String> command = new ArrayList<>();
    command.add(home.resolve("bin/thalamus").toString());
    command.addAll(List.of("--storage", folder.resolve(storage).toString()));
    command.addAll(List.of(words));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  /** Fills the inputs and returns the outputs that the device cpu computes. */
  private byte[][] reference(byte[][] inputs, Random random) throws Exception {
    StringBuilder commands = new StringBuilder();
    for (int i = 0; i < inputs.length; i++) {
      random.nextBytes(inputs[i]);
      Path input = Files.write(folder.resolve("input" + i + ".bin"), inputs[i]);
      commands.append(
          "nn:run %s %s --output %s\n"
              .formatted(model, input, folder.resolve("output" + i + ".bin")));
    }
    Process process =
        thalamus("reference", "--with", "cpu", "-c", commands.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    if (process.waitFor() != 0) {
      throw new IOException("the reference cannot compute the model");
    }
    byte[][] outputs = new byte[inputs.length][];
    for (int i = 0; i < inputs.length; i++) {
      outputs[i] = Files.readAllBytes(folder.resolve("output" + i + ".bin"));
    }
    return outputs;
  }

  private void ask(ProducerTemplate template, String target, byte[][] inputs, byte[][] expected) {
    promise(
        "live",
        call(template, "server/live?target=" + target, null, ServerLiveResponse.class).getLive());
    promise(
        "ready",
        call(template, "server/ready?target=" + target, null, ServerReadyResponse.class)
            .getReady());
    String named = "?modelName=digits&target=" + target;
    promise(
        "the model is ready",
        call(template, "model/ready" + named, null, ModelReadyResponse.class).getReady());
    ModelMetadataResponse metadata =
        call(template, "model/metadata" + named, null, ModelMetadataResponse.class);
    promise("the metadata name the input", metadata.getInputs(0).getName().equals("picture"));
    int equal = 0;
    for (int i = 0; i < inputs.length; i++) {
      boolean isRaw = i % 2 == 0;
      ModelInferRequest request = isRaw ? raw(inputs[i]) : typed(inputs[i]);
      ModelInferResponse response =
          call(template, "infer" + named, request, ModelInferResponse.class);
      equal += Arrays.equals(response.getRawOutputContents(0).toByteArray(), expected[i]) ? 1 : 0;
    }
    System.out.println("requests = " + inputs.length);
    System.out.println("bitEqual = " + equal);
    promise("every answer is that of the device cpu", equal == inputs.length);
  }

  private static <T> T call(ProducerTemplate template, String call, Object body, Class<T> type) {
    return template.requestBody("kserve:" + call, body, type);
  }

  private static InferInputTensor.Builder input() {
    return InferInputTensor.newBuilder()
        .setName("picture")
        .setDatatype("INT8")
        .addAllShape(List.of(1L, 28L, 28L, 1L));
  }

  private static ModelInferRequest raw(byte[] value) {
    return ModelInferRequest.newBuilder()
        .addInputs(input())
        .addRawInputContents(ByteString.copyFrom(value))
        .build();
  }

  private static ModelInferRequest typed(byte[] value) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (byte each : value) {
      contents.addIntContents(each);
    }
    return ModelInferRequest.newBuilder().addInputs(input().setContents(contents)).build();
  }

  private void promise(String what, boolean isKept) {
    System.out.println((isKept ? "kept: " : "BROKEN: ") + what);
    isBroken |= !isKept;
  }
}
