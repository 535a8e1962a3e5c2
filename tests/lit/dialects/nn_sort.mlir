// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT:   %top = nn.top_k %x {largest = true, k = #nn.dims[3]} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64>
// CHECK-NEXT:   %some = nn.top_k_select %x {largest = false, k = #nn.dims[3]} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64>
// CHECK-NEXT:   %all = nn.top_k_sort %x {largest = true} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], i64>
// CHECK-NEXT:   %values = nn.take_along_axis %x, %top {axis = 1} : (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 3], i64>) -> !nn.tensor<[n, 3], f32>
func.func @main(%x : !nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], f32> {
  %top = nn.top_k %x {largest = true, k = #nn.dims[3]} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64>
  %some = nn.top_k_select %x {largest = false, k = #nn.dims[3]} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64>
  %all = nn.top_k_sort %x {largest = true} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], i64>
  %values = nn.take_along_axis %x, %top {axis = 1} : (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 3], i64>) -> !nn.tensor<[n, 3], f32>
  func.return %values : !nn.tensor<[n, 3], f32>
}
