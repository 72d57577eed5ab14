// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Colours that differ for most eyes and stay readable in print. Stateless. */
final class Palette {
  /** Colours of one kind of node. */
  record Tone(String fill, String stroke, String text) {}

  /** Inputs and outputs. */
  static final Tone PLAIN = new Tone("#f9fafb", "#9ca3af", "#374151");

  private static final Tone SLATE = new Tone("#e2e8f0", "#64748b", "#1e293b");
  private static final Tone GREEN = new Tone("#d1fae5", "#059669", "#064e3b");
  private static final Tone VIOLET = new Tone("#ede9fe", "#7c3aed", "#4c1d95");
  private static final Tone BLUE = new Tone("#dbeafe", "#2563eb", "#1e3a8a");
  private static final Tone AMBER = new Tone("#fef3c7", "#d97706", "#78350f");
  private static final Tone ROSE = new Tone("#ffe4e6", "#e11d48", "#881337");
  private static final Tone CYAN = new Tone("#cffafe", "#0891b2", "#164e63");
  private static final List<Tone> FURTHER = List.of(BLUE, AMBER, ROSE, CYAN);

  private static final String CONVOLUTION = "convolution";
  private static final String DEPTHWISE = "depthwise";
  private static final String MATRIX = "matrix product";
  private static final String RECURRENT = "recurrent";
  private static final String POOLING = "pooling, reduction";
  private static final String ACTIVATION = "activation";
  private static final String MOVEMENT = "movement";
  private static final String OTHER = "elementwise and others";

  private Palette() {}

  /** The same device has the same colour in every picture. */
  static Map<String, Tone> ofDevices(Collection<String> devices) {
    Map<String, Tone> tones = new LinkedHashMap<>();
    tones.put("", PLAIN);
    int further = 0;
    for (String device : devices.stream().distinct().sorted().toList()) {
      Tone tone =
          switch (device) {
            case "cpu" -> SLATE;
            case "simd" -> GREEN;
            case "npu" -> VIOLET;
            default -> FURTHER.get(further++ % FURTHER.size());
          };
      tones.put(device, tone);
    }
    return tones;
  }

  /** Returns the colour of a compilation, by its number in a picture. */
  static Tone ofCompilation(int index) {
    List<Tone> tones = List.of(BLUE, AMBER, GREEN, VIOLET, CYAN, SLATE);
    return tones.get(index % tones.size());
  }

  static Map<String, Tone> families() {
    return Map.of(
        CONVOLUTION, BLUE,
        DEPTHWISE, CYAN,
        MATRIX, VIOLET,
        RECURRENT, ROSE,
        POOLING, AMBER,
        ACTIVATION, GREEN,
        MOVEMENT, PLAIN,
        OTHER, SLATE);
  }

  static String family(String operation) {
    String name = operation.substring(operation.lastIndexOf('/') + 1);
    if (name.startsWith("DEPTHWISE")) {
      return DEPTHWISE;
    }
    if (name.contains("CONV_2D")) {
      return CONVOLUTION;
    }
    if (name.equals("FULLY_CONNECTED") || name.contains("MATMUL")) {
      return MATRIX;
    }
    if (name.contains("LSTM") || name.contains("RNN") || name.equals("SVDF")) {
      return RECURRENT;
    }
    if (name.contains("POOL") || name.startsWith("REDUCE") || name.equals("MEAN")) {
      return POOLING;
    }
    return switch (name) {
      case "RELU",
          "RELU1",
          "RELU6",
          "LOGISTIC",
          "TANH",
          "ELU",
          "HARD_SWISH",
          "PRELU",
          "SOFTMAX",
          "LOG_SOFTMAX" ->
          ACTIVATION;
      case "RESHAPE",
          "SQUEEZE",
          "EXPAND_DIMS",
          "TRANSPOSE",
          "CONCATENATION",
          "SPLIT",
          "SLICE",
          "STRIDED_SLICE",
          "PAD",
          "PAD_V2",
          "MIRROR_PAD",
          "PACK",
          "GATHER",
          "TILE",
          "SPACE_TO_DEPTH",
          "DEPTH_TO_SPACE",
          "SPACE_TO_BATCH_ND",
          "BATCH_TO_SPACE_ND",
          "CHANNEL_SHUFFLE",
          "RESIZE_BILINEAR",
          "RESIZE_NEAREST_NEIGHBOR" ->
          MOVEMENT;
      default -> OTHER;
    };
  }
}
