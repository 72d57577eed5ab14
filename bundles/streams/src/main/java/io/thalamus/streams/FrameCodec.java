// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import java.util.Objects;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * The way of an element of a stream into a frame, and of a frame to a result. Frames are used again
 * and again, so a codec keeps neither them nor their segments.
 *
 * <p>One thread at a time writes, and one at a time reads, each in the order of the elements; one
 * frame may be written while another one is read. An exception ends the stream once all results
 * before it are delivered.
 *
 * @param <T> what comes in
 * @param <R> what goes out
 */
@ConsumerType
public interface FrameCodec<T, R> {
  /**
   * Writes an element to the inputs of a frame, in the thread of the source. An input that is not
   * written holds what an earlier frame left there.
   */
  void write(T element, Frame frame) throws Exception;

  /**
   * Makes a result of the outputs of a frame, in a thread of the stream. It is called for frames
   * that failed as well: {@link Frame#output} throws for these, {@link Frame#report} says why.
   *
   * @return the result, which must not refer to the frame; not null
   */
  R read(Frame frame) throws Exception;

  /** Returns a codec of two functions. */
  static <T, R> FrameCodec<T, R> of(Writer<T> writer, Reader<R> reader) {
    Objects.requireNonNull(writer, "writer");
    Objects.requireNonNull(reader, "reader");
    return new FrameCodec<>() {
      @Override
      public void write(T element, Frame frame) throws Exception {
        writer.write(element, frame);
      }

      @Override
      public R read(Frame frame) throws Exception {
        return reader.read(frame);
      }
    };
  }

  /** The half that {@link FrameCodec#write} describes. */
  @FunctionalInterface
  interface Writer<T> {
    /** Writes an element to the inputs of a frame. */
    void write(T element, Frame frame) throws Exception;
  }

  /** The half that {@link FrameCodec#read} describes. */
  @FunctionalInterface
  interface Reader<R> {
    /** Makes a result of the outputs of a frame. */
    R read(Frame frame) throws Exception;
  }
}
