// SPDX-License-Identifier: Apache-2.0
/** Graphs of operations as SVG pictures: laid out in layers, wrapped into columns. */
package io.thalamus.shell.picture;
