// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import triton.client.InferInput;
import triton.client.InferRequestedOutput;
import triton.client.InferResult;
import triton.client.InferenceException;
import triton.client.InferenceServerClient;
import triton.client.pojo.DataType;

/**
 * Triton's client as it is. Arguments: host and port, then for each inference the model, the input,
 * its datatype and shape, the output, the files of the input's value and of the output's: binary
 * and as JSON, the two must be equal. In the end it says how it was refused.
 */
final class TritonClient {
  private static final int ARGUMENTS = 7;
  private static final int MILLIS = 60_000;

  private TritonClient() {}

  public static void main(String... arguments) throws Exception {
    try (InferenceServerClient client = new InferenceServerClient(arguments[0], MILLIS, MILLIS)) {
      client.setRetryCnt(1);
      for (int i = 1; i < arguments.length; i += ARGUMENTS) {
        infer(client, Arrays.asList(arguments).subList(i, i + ARGUMENTS));
      }
      InferInput input = new InferInput("none", new long[] {1}, DataType.FP32);
      input.setData(new float[] {1}, false);
      for (String model : List.of("none", arguments[1])) {
        try {
          client.infer(model, List.of(input), List.of());
          System.out.println("answered");
        } catch (InferenceException e) {
          System.out.println("refused: " + e.getMessage());
        }
      }
    }
  }

  private static void infer(InferenceServerClient client, List<String> words) throws Exception {
    long[] shape = Arrays.stream(words.get(3).split(",")).mapToLong(Long::parseLong).toArray();
    byte[] value = Files.readAllBytes(Path.of(words.get(5)));
    byte[] first = null;
    for (boolean isBinary : new boolean[] {true, false}) {
      InferInput input = new InferInput(words.get(1), shape, DataType.valueOf(words.get(2)));
      // As JSON, the client writes bytes above 127 as numbers of 32 bits, which no UINT8 is.
      input.setData(value, isBinary || words.get(2).equals("UINT8"));
      InferRequestedOutput output = new InferRequestedOutput(words.get(4), isBinary);
      InferenceServerClient.InferArguments call =
          new InferenceServerClient.InferArguments(words.get(0), List.of(input), List.of(output))
              .setRequestId("one")
              .setPriority(1)
              .setTimeout(MILLIS * 1_000);
      InferResult result = client.infer(call);
      byte[] given = result.getOutputAsByte(words.get(4));
      if (first == null) {
        first = given;
        Files.write(Path.of(words.get(6)), given);
      }
      System.out.println(
          "%s %s %s"
              .formatted(
                  words.get(0),
                  isBinary ? "binary" : "JSON",
                  Arrays.equals(first, given) ? "answered" : "differs"));
    }
  }
}
