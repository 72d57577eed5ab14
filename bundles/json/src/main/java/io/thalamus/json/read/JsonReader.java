// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import io.thalamus.json.form.Form;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.osgi.service.component.annotations.Component;

/** Reads models as text. Thread-safe; keeps nothing. */
@Component(service = ModelReader.class)
public final class JsonReader implements ModelReader {
  private static final Pattern START = Pattern.compile("\\s*\\{\\s*\"" + Form.MARK + "\"[^$]*");

  private final ModelValidator validator = OperationCatalog.standard().validator();

  /** For the framework, and for tests. */
  public JsonReader() {}

  @Override
  public String format() {
    return Form.NAME;
  }

  /** By the first name in the text alone: many files end in {@code .json}. */
  @Override
  public boolean accepts(String fileName, MemorySegment head) {
    byte[] bytes = head.toArray(ValueLayout.JAVA_BYTE);
    return START.matcher(new String(bytes, StandardCharsets.ISO_8859_1)).matches();
  }

  @Override
  public ModelFile read(SharedMemory file) throws ModelFormatException {
    return read(file, ReadOptions.DEFAULT);
  }

  @Override
  public ModelFile read(SharedMemory file, ReadOptions options) throws ModelFormatException {
    return read(file, options, Companions.NONE);
  }

  @Override
  public ModelFile read(SharedMemory file, ReadOptions options, Companions companions)
      throws ModelFormatException {
    if (!options.equals(ReadOptions.DEFAULT)) {
      throw new ModelFormatException(
          Form.NAME + " files leave no choice of shapes, entry point or hybrid layers");
    }
    if (file.size() > Form.MAX_TEXT) {
      throw new ModelFormatException(
          "the text is larger than %s MiB".formatted(Form.MAX_TEXT >> 20));
    }
    byte[] text = file.segment().toArray(ValueLayout.JAVA_BYTE);
    try (Cursor cursor = new Cursor(text)) {
      FileReader reader = new FileReader(cursor, companions);
      ModelFile model = reader.read();
      validator.validate(model.model());
      return reader.withFirstValues(model);
    } catch (ValidationException e) {
      throw oneLine("the model is invalid: " + e.getMessage(), e);
    } catch (ModelFormatException e) {
      throw oneLine(e.getMessage(), e);
    } catch (IOException e) {
      throw oneLine("the text is damaged: " + e.getMessage(), e);
    }
  }

  /** Names out of a damaged file may hold anything. */
  private static ModelFormatException oneLine(String message, Exception cause) {
    return new ModelFormatException(message.replaceAll("\\p{Cntrl}", "?"), cause);
  }
}
