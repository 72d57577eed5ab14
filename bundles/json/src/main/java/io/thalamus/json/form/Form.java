// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.form;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;

/** The names and limits of the form, which reader and writer share. */
public final class Form {
  /** The name of the format for people. */
  public static final String NAME = "Thalamus JSON";

  /** The newest version, which is the value of {@link #MARK}. */
  public static final int VERSION = 1;

  /** The first name in each file, by which it is known. */
  public static final String MARK = "thalamus";

  public static final String DESCRIPTION = "description";
  public static final String RELAXED = "relaxed";
  public static final String LABELS = "labels";
  public static final String NORMALIZATIONS = "normalizations";
  public static final String FIRST_VALUES = "firstValues";
  public static final String VALUE = "value";
  public static final String INPUT = "input";
  public static final String MEAN = "mean";
  public static final String STD = "std";

  public static final String CONSTANTS = "constants";
  public static final String FILE = "file";
  public static final String SIZE = "size";
  public static final String SHA256 = "sha256";

  public static final String GRAPHS = "graphs";
  public static final String OPERANDS = "operands";
  public static final String OPERATIONS = "operations";
  public static final String INPUTS = "inputs";
  public static final String OUTPUTS = "outputs";

  public static final String NAMED = "name";
  public static final String TYPE = "type";
  public static final String SHAPE = "shape";
  public static final String SCALE = "scale";
  public static final String ZERO_POINT = "zeroPoint";
  public static final String CHANNEL_DIMENSION = "channelDimension";
  public static final String SCALES = "scales";
  public static final String LIFETIME = "lifetime";
  public static final String VALUES = "values";
  public static final String BYTES = "bytes";
  public static final String OFFSET = "offset";
  public static final String LENGTH = "length";
  public static final String GRAPH = "graph";

  public static final String EXTENSION = "extension";
  public static final String CODE = "code";
  public static final String TENSOR = "tensor";
  public static final String ELEMENT_SIZE = "elementSize";

  /** The most bytes of a constant that stands in the text; larger ones are in the other file. */
  public static final int MAX_INLINE = 1 << 16;

  /** The most bytes of text. A model of a hundred thousand operations has fewer. */
  public static final int MAX_TEXT = 1 << 26;

  /** The most graphs, which may refer to each other. */
  public static final int MAX_GRAPHS = 1000;

  private static final int MAX_DEPTH = 12;
  private static final int MAX_STRING = 1 << 20;

  private Form() {}

  /** Returns a factory of parsers and generators with the limits of the form. */
  public static JsonFactory factory() {
    // The default pool of buffers keeps them in ThreadLocals, also of threads that are not ours.
    return JsonFactory.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .recyclerPool(JsonRecyclerPools.nonRecyclingPool())
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(MAX_DEPTH)
                .maxStringLength(MAX_STRING)
                .build())
        .build();
  }
}
