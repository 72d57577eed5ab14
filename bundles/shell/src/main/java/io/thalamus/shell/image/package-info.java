// SPDX-License-Identifier: Apache-2.0
/** Pictures as inputs: reading them, fitting them to a model's input, normalizing them. */
package io.thalamus.shell.image;
