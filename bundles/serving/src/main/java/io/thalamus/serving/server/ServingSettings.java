// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the server. A change restarts it. */
@ObjectClassDefinition(
    name = "Thalamus serving",
    description = "The folder with the models that are served, and how it is watched")
@Retention(RetentionPolicy.RUNTIME)
public @interface ServingSettings {
  @AttributeDefinition(
      name = "Models",
      description = "Folder with NAME/VERSION/model.tflite, model.onnx, or files NAME.tflite")
  String models();

  @AttributeDefinition(
      name = "Versions",
      description = "How many of the newest versions of a model are served; 0 for all",
      min = "0")
  int versions() default 1;

  @AttributeDefinition(
      name = "Scan",
      description =
          "Milliseconds between two looks at the folder; a file is read once two looks agree",
      min = "1")
  long scanMillis() default 500;

  @AttributeDefinition(
      name = "Retry",
      description = "Milliseconds after which a version that failed is tried again, at first",
      min = "1")
  long retryMillis() default 2_000;

  @AttributeDefinition(
      name = "Time limit",
      description = "Milliseconds that a request may take where it says nothing; 0 for no limit",
      min = "0")
  long timeoutMillis() default 0;

  @AttributeDefinition(
      name = "States",
      description =
          "MODEL:OUTPUT=INPUT: the output is kept, and is the input of the next request of the same"
              + " sequence; at its start the first value of the file, else zeros. Clients see"
              + " neither")
  String[] states() default {};

  @AttributeDefinition(
      name = "Joins",
      description =
          "MODEL=MICROSECONDS: requests of the model that come within this time are executed as"
              + " one; a model whose rows know of each other is not served then")
  String[] joins() default {};

  @AttributeDefinition(
      name = "Rows of joined requests",
      description = "As many rows are not waited for longer",
      min = "2")
  int joinRows() default 32;

  @AttributeDefinition(
      name = "Sequences",
      description = "How many sequences there may be at a time",
      min = "1")
  int sequences() default 1_000;

  @AttributeDefinition(
      name = "Idle limit of sequences",
      description = "Milliseconds without a request after which a sequence is forgotten",
      min = "1")
  long sequenceIdleMillis() default 60_000;

  @AttributeDefinition(
      name = "Policy",
      description = "The partition policy of compilations; empty for the configured one")
  String policy() default "";
}
